/*
 * The judgement of an output, made value by value, and the tolerance of one element of y and dx: compare.h
 * says what is expected of each, and derives the formulas.
 */
#pragma once

#include "check/bounds.h"
#include "check/outputs.h"

typedef struct verdict {
    int judged;       /* 0: the problem has no such output */
    size_t failures;  /* values beyond their tolerance */
    size_t unbounded; /* values that no bound holds for: eps is 0, the variance may be */
    double ratio;     /* the largest error / tolerance */
    /* Where that was: */
    double error, tolerance, got, expected;
    size_t index; /* into the output's data */
} verdict;

/* A result that may be so far from what is expected. */
void verdict_value(verdict *v, sbn_type type, size_t index, float got, double expected,
                   double tolerance);

/* A result of which every bit is known. */
void verdict_bits(verdict *v, size_t index, float got, float expected);

/* y's error that the apply step alone may cause; `centered` is x - mean, a = weight invstd. */
double tolerance_apply(double a, double centered, double bias);

double tolerance_y(const reference_channel *ch, double weight, double bias, double x);
double tolerance_dx(const reference *ref, const reference_channel *ch, double weight, double x,
                    double dy);

/* What dx is off besides where x - mean, which backward finds in y, is off by `recovery`. */
double tolerance_recovered(const reference *ref, const reference_channel *ch, double weight,
                           double recovery);
