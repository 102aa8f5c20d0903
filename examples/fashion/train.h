/* One training from start to test accuracy. */
#pragma once

#include "curves.h"
#include "model.h"
#include "progress.h"

struct training {
    uint64_t seed;
    size_t steps;
    double rate;   /* at the first step; falls to 0 along a line */
    size_t images; /* in the training set */
    size_t tests;  /* in the test set */
};

/* The order in which a seed visits the images: a new permutation each epoch. */
struct order {
    uint64_t state;
    unsigned *index;
    size_t count, next;
};

void order_begin(struct order *order, uint64_t seed, size_t count);
void order_end(struct order *order);

/* The next `images` of them, not more than the set holds; the rest of an epoch is left out. */
const unsigned *order_take(struct order *order, size_t images);

/*
 * A step and an evaluation, for their kernels. While `norm` stays open others of its kind find them
 * compiled, and the time of a training is that of training alone.
 */
void compile_kernels(struct model *model, struct norm *norm, struct norm *evaluation,
                     const struct training *training);

/* Trains `model` from the seed's start; returns the accuracy over all test images. */
double train(struct model *model, struct norm *norm, struct norm *evaluation,
             const struct training *training, struct curves *curves, struct progress *progress);
