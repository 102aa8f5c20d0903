/* How a pass becomes settled on the host. */
#ifndef SBN_PASS_SETTLE_H
#define SBN_PASS_SETTLE_H

#include "pass/pool.h"

/*
 * Settles a pass. An error keeps the last sentence, except that an error of this rank itself has
 * priority.
 */
void sbn__pass_settle(sbn_pass *pass, int status);

/*
 * Checks the counts of values: 0 if there are too few, and the pass is settled. Layer passes
 * without values have nothing to combine.
 */
int sbn__pass_accept_counts(sbn_pass *pass);

/* 1 if anything is left to combine. */
int sbn__pass_has_pending(const sbn_pass *pass);

/* All layer passes are combined: updates what outlives them. */
void sbn__pass_conclude(sbn_pass *pass);

/* Moves a pass of this rank alone, whose counts are known, on to LOCAL, or settles it. */
void sbn__pass_start_alone(sbn_pass *pass);

#endif
