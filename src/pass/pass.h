/*
 * A pass from its begin to its end: reduce on the devices, combine over replicas and ranks, then
 * each layer pass's own apply. One pipeline for all kinds (src/pass/pipeline.h) and one state machine
 * (src/pass/combine.h); it waits in sbn_pass_end and sbn__pass_run, and when it begins, for earlier
 * uses of the memory that it works with.
 */
#ifndef SBN_PASS_PASS_H
#define SBN_PASS_PASS_H

#include "pass/layer_pass.h"

/* The public begin of `count` layers. */
int sbn__pass_begin(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass);

/* begin and end in a row. */
int sbn__pass_run(sbn__choose *choose, const sbn_branch *branches, size_t count,
                  sbn_result *results);

#endif
