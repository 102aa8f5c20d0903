/*
 * Step 1 of a pass, and the way of its accumulators to the host. What outlives a pass changes when
 * all of it is combined; until then an error leaves outputs, and the saved statistics that the pass
 * fills, undefined and the rest as it was.
 */
#ifndef SBN_PASS_PIPELINE_H
#define SBN_PASS_PIPELINE_H

#include "pass/pass.h"

/*
 * Decides which layer passes of a prepared pass are one launch; `at_once`: the caller ends the pass
 * before it does anything else.
 */
void sbn__pipeline_plan(sbn_pass *pass, int at_once);

/* Enqueues step 1 of the pending layer passes. Errors are kept in the pass. */
void sbn__pipeline_start(sbn_pass *pass);

/* 1 if the accumulators have arrived or an error is kept. Never blocks. */
int sbn__pipeline_arrived(sbn_pass *pass);

/* Blocks until they have arrived or failed. */
void sbn__pipeline_wait(const sbn_pass *pass);

#endif
