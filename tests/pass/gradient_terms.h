/*
 * What tests/pass/gradient.c compares with: its tolerances are derived there.
 */
#ifndef TESTS_PASS_GRADIENT_TERMS_H
#define TESTS_PASS_GRADIENT_TERMS_H

#include "support/trial.h"

#define GRADIENT_STEP 0x1p-3

enum { CHANNELS = 3 };

/* The element's place: value j of channel c, counted over the samples. */
size_t gradient_place(const trial *t, size_t c, size_t j);

/* Rounds the trial's numbers, and moves them away from where its activation bends. */
void gradient_fill(trial *t);

/* The terms of the tolerances, in float64. */
typedef struct channel {
    double mean, s0, invstd, dy_mean, product, rounding;
    double recovered; /* how far weight_grad may be off because x was recovered from y */
} channel;

channel gradient_terms(const trial *t, size_t c);

/* The truncation error for an element at distance d from the mean, with this dy. */
double gradient_truncation(const trial *t, size_t c, const channel *a, double d, double dy);

/* The same of dx, at d = x - mean. */
double gradient_recovery_dx(const trial *t, size_t c, const channel *a, double d);

#endif
