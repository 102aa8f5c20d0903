/*
 * A pass from begin to end: reduce on the devices, combine over replicas and ranks, apply. All
 * kinds use one pipeline (src/pass/pipeline.h) and one state machine (src/pass/combine.h). It waits
 * in sbn_pass_end, in sbn__pass_run, and at its beginning for earlier uses of its working memory.
 */
#ifndef SBN_PASS_PASS_H
#define SBN_PASS_PASS_H

#include "pass/layer_pass.h"

/* The public begin functions, for `count` layers. */
int sbn__pass_begin(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass);

/* begin and end in a row. */
int sbn__pass_run(sbn__choose *choose, const sbn_branch *branches, size_t count,
                  sbn_result *results);

#endif
