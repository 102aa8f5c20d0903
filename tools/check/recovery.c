/* What storing y loses of x. */
#include "check/recovery.h"

#include <math.h>

#include "check/elements.h"

/* The rounding of a type: of a number, and of the smallest. */
static const double units[ELEMENT_TYPES] = {
    [SBN_F32] = 0x1p-24,
    [SBN_F16] = 0x1p-11,
    [SBN_BF16] = 0x1p-8,
};
static const double tiny[ELEMENT_TYPES] = {
    [SBN_F32] = 0x1p-126,
    [SBN_F16] = 0x1p-25,
    [SBN_BF16] = 0x1p-126,
};

double recovery_error(const problem *p, const inputs *in, const reference_channel *ch, size_t c,
                      double x)
{
    if (!p->from_output || ch->invstd == 0)
        return 0;
    const double weight = p->affine ? fabs((double)in->weight[c]) : 1;
    const double bias = p->affine ? fabs((double)in->bias[c]) : 0;
    const double slope = p->activation == SBN_LEAKY_RELU ? fmin(fabs((float)p->slope), 1) : 1;
    const double size = fabs(x - ch->mean) * ch->invstd + bias / weight;
    /* Of the type, and of the arithmetic, which is that of floats. */
    const double stored = units[p->type] * size + tiny[p->type] / (slope * weight);
    return (stored + 8 * BOUND_UNIT * size + 0x1p-120 / weight) / ch->invstd;
}
