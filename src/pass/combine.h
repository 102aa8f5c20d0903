/*
 * Step 2 of a pass: a state machine, of all layer passes together.
 *
 *   HEADER -> LOCAL -> SENT -> SETTLED      joined to other ranks
 *             LOCAL -> SETTLED              alone
 *             LOCAL -> LOCAL                alone: the next chunk, or this one in the wide format
 *                      SENT -> LOCAL        once more, in the wide format: layer passes that need it
 *   HEADER, SENT -> MISMATCH -> SETTLED     a disagreement or an error
 *
 * With each tag all ranks start the same requests in the same order: words in the order the passes
 * began; mismatches and words in the wide format only for the oldest pass that is not settled.
 * Nothing here blocks, but for the fall-back after a timeout, which waits for own devices.
 */
#ifndef SBN_PASS_COMBINE_H
#define SBN_PASS_COMBINE_H

#include "pass/pool.h"

/* The pass is under way and its reduction enqueued, or pass->error says why not. */
void sbn__combine_start(sbn_pass *pass);

/* One look at every pass of the group, in the order they began. */
void sbn__combine_progress(sbn_group *group);

#endif
