/* How a pass comes to its end on the host. */
#ifndef SBN_PASS_SETTLE_H
#define SBN_PASS_SETTLE_H

#include "pass/pool.h"

/* Settles a pass; a failure keeps the last sentence. An error of this rank's own outranks all. */
void sbn__pass_settle(sbn_pass *pass, int status);

/*
 * The counts are known: 1 if they will do; otherwise the pass is settled. Where there are no values
 * there is nothing to combine.
 */
int sbn__pass_accept_counts(sbn_pass *pass);

/* Is anything left to combine? */
int sbn__pass_has_pending(const sbn_pass *pass);

/* All is known of all layer passes: what outlives them changes now. */
void sbn__pass_conclude(sbn_pass *pass);

/* A pass of this rank alone, which has its counts, goes on to LOCAL or is settled. */
void sbn__pass_start_alone(sbn_pass *pass);

#endif
