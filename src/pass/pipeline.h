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

/* Cuts a prepared pass, `at_once` or to be ended later, into chunks. */
void sbn__pipeline_plan(sbn_pass *pass, int at_once);

/*
 * Enqueues step 1 of the pending layer passes: of the first chunks, or, in the wide format, of the
 * one that is being combined. A failure is kept as the pass's.
 */
void sbn__pipeline_start(sbn_pass *pass);

/* Are the chunk's accumulators there to be combined? Never blocks; failures are kept: 1 then. */
int sbn__pipeline_arrived(sbn_pass *pass);

/* Blocks until they are, or will never be. */
void sbn__pipeline_wait(const sbn_pass *pass);

/*
 * The chunk is combined: 0 if it is the last, whose step 3 is left to the end of the pass. Otherwise
 * enqueues its step 3 and step 1 of a later one, and goes on to the next.
 */
int sbn__pipeline_advance(sbn_pass *pass);

#endif
