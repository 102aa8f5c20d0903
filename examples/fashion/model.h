/* A replicated network on its devices: one step of training, evaluation. */
#pragma once

#include "blocks.h"
#include "progress.h"

/* Sums over images. */
struct score {
    double loss, right;
};

/*
 * The replicas `first` ... first + replicas - 1 of `in_all`, spread over the
 * first min(count, replicas) devices of this rank. Batch norms read and write the type.
 */
void model_open(struct model *model, const struct choice *choices, size_t count, sbn_type type,
                size_t first, size_t replicas, size_t in_all, size_t batch,
                const struct dataset sets[2]);
void model_close(struct model *model);

/* The same parameters on every device, no velocity. */
void model_start(struct model *model, uint64_t seed);

/* Loss and gradients of in_all * batch training images; `index` names them on every rank. */
struct score model_gradients(struct model *model, struct norm *norm, const unsigned *index);

/* That, averaged over all replicas, and a step down. */
struct score model_step(struct model *model, struct norm *norm, const unsigned *index, double rate);

/*
 * The first `count` test images, normalised by evaluation's running statistics, or, without it,
 * by the folded network of fold.h. Unless NULL, `logits` receives those of the images that this
 * rank looks at, CLASSES for each image. Unless NULL, `progress` shows how many it has looked at.
 */
struct score model_evaluate(struct model *model, struct norm *evaluation, size_t count,
                            float *logits, struct progress *progress);
