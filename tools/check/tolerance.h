/* The tolerance of one element of y and dx: the formulas that compare.h derives. */
#ifndef TOOLS_CHECK_TOLERANCE_H
#define TOOLS_CHECK_TOLERANCE_H

#include "check/bounds.h"

/* y's error that the apply step alone may cause; `centered` is x - mean, a = weight invstd. */
double tolerance_apply(double a, double centered, double bias);

double tolerance_y(const reference_channel *ch, const channel_bounds *b, double weight, double bias,
                   double x);
double tolerance_dx(const reference *ref, const reference_channel *ch, const channel_bounds *b,
                    double weight, double x, double dy);

/* What dx is off besides where x - mean, which backward finds in y, is off by `recovery`. */
double tolerance_recovered(const reference *ref, const reference_channel *ch,
                           const channel_bounds *b, double weight, double recovery);

#endif
