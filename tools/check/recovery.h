/* Backward from the output: how far x is off that y gives back (doc/from-output.md). */
#ifndef TOOLS_CHECK_RECOVERY_H
#define TOOLS_CHECK_RECOVERY_H

#include "check/reference.h"

/* Of x - mean, for an x of channel c; 0 for a layer whose backward pass reads x. */
double recovery_error(const problem *p, const inputs *in, const reference_channel *ch, size_t c,
                      double x);

#endif
