/*
 * A pass as one pipeline over chunks of channels: step 1 reduces a chunk, step 2 combines it over
 * replicas and ranks (src/pass/combine.h), step 3 applies the results to it. Most passes have one
 * chunk. A large pass of one layer on one replica alone, which the caller ends before it does
 * anything else, has several, so that what step 3 reads again is still in the device's cache: while
 * one is combined and applied, the next one is reduced.
 *
 * What outlives a pass changes when its last chunk is combined; until then an error leaves outputs,
 * and the saved statistics that the pass fills, undefined and the rest as it was.
 */
#ifndef SBN_PASS_PIPELINE_H
#define SBN_PASS_PIPELINE_H

#include "pass/pool.h"

/*
 * Divides a prepared pass into chunks; `at_once`: the caller ends it before it does anything else.
 */
void sbn__pipeline_plan(sbn_pass *pass, int at_once);

/*
 * Enqueues step 1 of the pending layer passes: of the first chunks or, in the wide format, of the
 * current chunk. Errors are kept in the pass.
 */
void sbn__pipeline_start(sbn_pass *pass);

/* 1 if the chunk's accumulators have arrived or an error is kept. Never blocks. */
int sbn__pipeline_arrived(sbn_pass *pass);

/* Blocks until they have arrived or failed. */
void sbn__pipeline_wait(const sbn_pass *pass);

/*
 * After a chunk is combined: enqueues its step 3 and step 1 of a later chunk, and moves on to the
 * next. Returns 0 if it is the last chunk, whose step 3 is left to the end of the pass.
 */
int sbn__pipeline_advance(sbn_pass *pass);

#endif
