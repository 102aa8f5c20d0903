/*
 * Step 2 of a pass on the host: reads the replicas' accumulators and adds them to the words that
 * are summed over the ranks.
 *
 * The words of a pass: whether a rank has an error; then, for every pending layer pass that is
 * combined with other ranks, its count of values and its accumulators. After those that are sent
 * follow the same words of layer passes of this rank alone that have several replicas.
 */
#pragma once

#include "launch/layer_pass.h"

/*
 * Functions are for the pending layer passes of the list from `lp` on, and for their narrow accumulators of all
 * channels or, `wide`, the wide ones of the channels of lp->wide, to which this rank's narrow ones are added.
 */

/*
 * Assigns each layer pass its place in the words; the first *sent go to other ranks. Returns all.
 * One of a single replica and rank has none: its place stays 0.
 */
size_t sbn__sums_lay_out(sbn_layer_pass *lp, int wide, size_t *sent);

/* Enqueues the copy of a replica's accumulators to the host, after its reduction; of the wide ones. */
int sbn__sums_read(sbn_layer_pass *lp, sbn_replica *replica);
int sbn__sums_read_wide(sbn_layer_pass *lp, sbn_replica *replica);

/* Clears *done where the copies of some replica are not complete. Never blocks; a failed command is an error. */
int sbn__sums_arrived(const sbn_layer_pass *lp, int *done);

/* Adds the replicas' accumulators to the words, of those that have a place there. */
void sbn__sums_add(sbn_layer_pass *lp, int wide, int64_t *words);

/* Converts the `sent` words for the all-reduce; or, not to_send, back, and takes the counts of values from them. */
void sbn__sums_convert(sbn_layer_pass *lp, int wide, size_t sent, int to_send, int64_t *words);

/* A layer pass's combined accumulators; and those of one replica with a non-empty shard. */
sbn_accumulators sbn__sums_of(const sbn_layer_pass *lp, int wide, const int64_t *words);
sbn_accumulators sbn__sums_of_replica(const sbn_layer_pass *lp, size_t replica,
                                      const sbn_format *format);
