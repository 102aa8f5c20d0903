/* Step 1 of a pass, and what combine needs of it: the words of local replicas. */
#ifndef SBN_SRC_REDUCE_H
#define SBN_SRC_REDUCE_H

#include "pass.h"

/* Makes the working memory large enough, and waits until its last use is over. */
int sbn_reduce_prepare(sbn_part *part);

/*
 * Enqueues the reductions of all pending parts in the pass's window, and makes room for their
 * sums. A failure is kept as the pass's.
 */
void sbn_reduce_enqueue(sbn_pass *pass);

/* Room that `arguments` must have after `count` for those that say how to walk. */
#define SBN_SLICE_ARGUMENTS 10

/* Enqueues one of a kind's reductions, into partial, or words where there is one slice. */
int sbn_reduce_launch(const sbn_piece *piece, sbn_replica *replica, sbn_kernel *kernel,
                      sbn_argument *arguments, size_t count, const sbn_slices *slices,
                      const sbn_wait *wait, cl_event *event);

/* Enqueues a piece's reductions on all replicas, in a window. */
int sbn_reduce_piece(sbn_part *part, sbn_piece *piece, int window);

/* Have all words arrived? Never blocks. A failure is kept as the pass's: there are none then. */
int sbn_reduce_done(sbn_pass *pass);

/* Blocks until a replica's have, or failed. */
void sbn_reduce_wait(const sbn_work *work);

/* One replica's words; those of an empty share are not there. */
sbn_words sbn_reduce_words(const sbn_piece *piece, size_t replica, const sbn_window *window);

/* Is there more than one replica's words, or are they sent? */
int sbn_reduce_must_add(const sbn_part *part);

/*
 * Adds the replicas' words into the sums of the pass. Its first word is whether a member has an
 * error; then come, for every pending part that others add to, a count and words; behind those
 * pass->sent words stand the parts of this member alone. sbn_reduce_seal makes words fit to be
 * sent, sbn_reduce_open reads counts and words that came back.
 */
void sbn_reduce_add(sbn_pass *pass);
void sbn_reduce_seal(sbn_pass *pass);
void sbn_reduce_open(sbn_pass *pass);

/* A pending part's words, added up. */
sbn_words sbn_reduce_sum(const sbn_pass *pass, const sbn_part *part);

/* Grows a host block; what it held is lost. */
int sbn_grow(void **block, size_t *size, size_t wanted);

#endif
