/*
 * From a channel's words to what a pass needs: mean, variance, the terms of
 * the gradients. No OpenCL and no communication here.
 *
 * Wire words of a channel: the first sum's digits, the second's, flags. Added
 * over replicas and members they are the whole group's; every member computes
 * the same from them.
 */
#ifndef SBN_SRC_STATISTICS_H
#define SBN_SRC_STATISTICS_H

#include <stddef.h>
#include <stdint.h>

#include "window.h"

/* Adds one replica's kernel words of a channel to `wire`, whose last word collects flags by or. */
void sbn_add_words(const int64_t *words, const sbn_window *window, int64_t *wire);

/*
 * Carries between the digits of both sums, so that each but the highest is
 * below 2^48 again and 4095 members' digits add up within an int64.
 */
void sbn_carry_words(int64_t *wire, const sbn_window *window);

/* Flags between a set of bits and a word that can be added over members: a count in 12 bits each. */
int64_t sbn_flags_to_counts(int64_t flags);
int64_t sbn_flags_from_counts(int64_t counts);

/* 1 / sqrt of the variance, eps added or as a lower bound; `clamped` tells that eps decided. */
typedef struct sbn_eps {
    double eps;
    int clamp;
} sbn_eps;

double sbn_invstd(double var, sbn_eps eps);
int sbn_is_clamped(double var, sbn_eps eps);

typedef struct sbn_moments {
    double mean, var; /* biased */
} sbn_moments;

/* Mean and variance of `count` > 0 values. */
sbn_moments sbn_moments_of(const int64_t *wire, const sbn_window *window, uint64_t count);

/* Whether the narrow window was too small for this channel. Judged from shared values only. */
int sbn_forward_needs_wide(const int64_t *wire, sbn_moments moments, sbn_eps eps);
int sbn_backward_needs_wide(const int64_t *wire, double invstd);

typedef struct sbn_products {
    double dy, dy_xmu; /* sum dy, sum dy (x - mean) */
} sbn_products;

/* The gradient sums; mean_low is what the mean's upper float left out. */
sbn_products sbn_products_of(const int64_t *wire, const sbn_window *window, double mean_low);

/* A double as two floats. */
typedef struct sbn_two_floats {
    float high, low;
} sbn_two_floats;

sbn_two_floats sbn_split(double value);

#endif
