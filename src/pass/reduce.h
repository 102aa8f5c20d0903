/* Step 1 of a pass, and what combine needs of it: the words of local replicas. */
#ifndef SBN_PASS_REDUCE_H
#define SBN_PASS_REDUCE_H

#include "pass/pass.h"

/* Makes the working memory large enough, and waits until its last use is over. */
int sbn__reduce_prepare(sbn_layer_pass *layer_pass);

/*
 * Enqueues the reductions of all pending layer passes in the pass's format, and makes room for their
 * sums. A failure is kept as the pass's.
 */
void sbn__reduce_enqueue(sbn_pass *pass);

/* Room that `arguments` must have after `count` for those that say how to walk. */
#define SBN_SLICE_ARGUMENTS 10

/* Enqueues one of a kind's reductions, into partial, or words where there is one slice. */
int sbn__reduce_launch(const sbn_chunk *chunk, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_argument *arguments, size_t count, const sbn_reduce_plan *plan,
                       const sbn_wait *wait, cl_event *event);

/* Enqueues a chunk's reductions on all replicas, in a format. */
int sbn__reduce_chunk(sbn_layer_pass *layer_pass, sbn_chunk *chunk, int format);

/* Have all words arrived? Never blocks. A failure is kept as the pass's: there are none then. */
int sbn__reduce_done(sbn_pass *pass);

/* Blocks until a replica's have, or failed. */
void sbn__reduce_wait(const sbn_work *work);

/* One replica's words; those of an empty shard are not there. */
sbn_accumulators sbn__reduce_words(const sbn_chunk *chunk, size_t replica,
                                   const sbn_format *format);

/* Is there more than one replica's words, or are they sent? */
int sbn__reduce_must_add(const sbn_layer_pass *layer_pass);

/*
 * Adds the replicas' words into the sums of the pass. Its first word is whether a rank has an
 * error; then come, for every pending layer pass that others add to, a count and words; behind those
 * pass->sent words stand the layer passes of this rank alone. sbn__reduce_seal makes words fit to be
 * sent, sbn__reduce_open reads counts and words that came back.
 */
void sbn__reduce_add(sbn_pass *pass);
void sbn__reduce_seal(sbn_pass *pass);
void sbn__reduce_open(sbn_pass *pass);

/* A pending layer pass's words, added up. */
sbn_accumulators sbn__reduce_sum(const sbn_pass *pass, const sbn_layer_pass *layer_pass);

/* Grows a host block; what it held is lost. */
int sbn__grow(void **block, size_t *size, size_t wanted);

#endif
