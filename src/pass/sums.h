/*
 * Step 2 of a pass on the host: the replicas' accumulators are read and added up, into the words
 * that are summed over the ranks.
 *
 * The words of a pass: whether a rank has an error; then, for every layer pass that is pending and
 * combines with other ranks, its count of values and its accumulators; and behind those that are
 * sent the same for layer passes of this rank alone that have several replicas.
 */
#ifndef SBN_PASS_SUMS_H
#define SBN_PASS_SUMS_H

#include "pass/layer_pass.h"

/* Which accumulators: of a list of layer passes those that are pending, in a format. */
typedef struct sbn_sums {
    sbn_layer_pass *layer_passes;
    size_t chunk; /* the number of the one that they belong to */
    int format;
} sbn_sums;

/* Says where each layer pass's words stand; *sent of them go to other ranks. Returns all. */
size_t sbn__sums_lay_out(const sbn_sums *sums, size_t *sent);

/* Enqueues the copy of a replica's accumulators to the host, when its reduction is enqueued. */
int sbn__sums_read(const sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica,
                   int format);

/* Sets *done to 1 when all replicas' have arrived. Never blocks; a failed command is an error. */
int sbn__sums_arrived(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk, int *done);

/* Adds the replicas' accumulators into the words; where there is one, alone, they stay apart. */
void sbn__sums_add(const sbn_sums *sums, int64_t *words);

/* Makes the words fit to be added over ranks; and reads counts and accumulators that came back. */
void sbn__sums_encode(const sbn_sums *sums, int64_t *words);
void sbn__sums_decode(const sbn_sums *sums, int64_t *words);

/* A layer pass's accumulators, added up; and a replica's own, of a shard that is not empty. */
sbn_accumulators sbn__sums_of(const sbn_sums *sums, sbn_layer_pass *layer_pass,
                              const int64_t *words);
sbn_accumulators sbn__sums_of_replica(const sbn_chunk *chunk, size_t replica,
                                      const sbn_format *format);

#endif
