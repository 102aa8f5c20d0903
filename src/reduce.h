/* Step 1 of a pass, and what combine needs of it: words of local replicas, packed and added. */
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

/* Adds all replicas' words into pass->sums; each one's own stay in its work->wire. */
void sbn_reduce_add(sbn_pass *pass);

/* Grows a host block; what it held is lost. */
int sbn_grow(void **block, size_t *size, size_t wanted);

#endif
