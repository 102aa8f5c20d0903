/*
 * Step 2 of a pass: a state machine, for all layer passes together.
 *
 *   HEADER -> LOCAL -> SENT -> SETTLED      joined to other ranks
 *             LOCAL -> SENT -> SETTLED      joined, the sums behind the header: all ranks expect them
 *                      SENT -> LOCAL        some rank does not end the call at once, and had no sums yet
 *             LOCAL -> SETTLED              alone
 *             LOCAL -> LOCAL                alone: wide accumulators, too
 *                      SENT -> LOCAL        those of channels of which some rank has terms there
 *   HEADER, SENT -> MISMATCH -> SETTLED     a disagreement or an error
 *
 * With each tag all ranks start the same requests in the same order, with equal counts: headers and words in the order
 * the passes began; mismatches and words of wide accumulators only for the oldest unsettled pass. Nothing here blocks.
 */
#pragma once

#include "pass/pass.h"

/*
 * Starts the header of a joined pass whose reduction is enqueued, or whose error is kept in it. If all ranks
 * expect its sums, and the caller ends it at once, the header waits for them.
 */
void sbn__progress_join(sbn_pass *pass);

/* Advances every pass of the group without blocking, in the order they began. */
void sbn__progress(sbn_group *group);
