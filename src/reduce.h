/* Step 1 of a pass, and what combine needs of it: the words of local replicas. */
#ifndef SBN_SRC_REDUCE_H
#define SBN_SRC_REDUCE_H

#include "pass.h"

/* Makes the working memory large enough, and waits until its last use is over. */
int sbn_reduce_prepare(sbn_pass *pass);

/* Enqueues the reduction of every replica in a window. */
int sbn_reduce_enqueue(sbn_pass *pass, int window);

/* Have all words arrived? Never blocks. */
int sbn_reduce_done(sbn_pass *pass, int *done);

/* Blocks until they have, or failed. */
void sbn_reduce_wait(const sbn_pass *pass);

/* One replica's words; those of an empty share are not there. */
sbn_words sbn_reduce_words(const sbn_pass *pass, size_t replica);

/* Is there more than one replica's words, or are they sent? */
int sbn_reduce_must_add(const sbn_pass *pass);

/* If so, adds all replicas' words into pass->sums, behind its first word. */
void sbn_reduce_add(sbn_pass *pass);

/* Grows a host block; what it held is lost. */
int sbn_grow(void **block, size_t *size, size_t wanted);

#endif
