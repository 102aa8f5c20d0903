#include "check/fusion.h"

#include <math.h>
#include <stdlib.h>

#include "check/bounds.h"
#include "check/elements.h"

const char *const activation_names[SBN_LEAKY_RELU + 1] = {
    [SBN_IDENTITY] = "none",
    [SBN_RELU] = "relu",
    [SBN_LEAKY_RELU] = "leaky",
};

double fusion_activation(const problem *p, double z)
{
    const double slope = (float)p->slope;
    switch (p->activation) {
    case SBN_RELU: return z <= 0 ? 0 : z;
    case SBN_LEAKY_RELU: return z > 0 ? z : z * slope;
    default: return z;
    }
}

double fusion_tolerance(const problem *p, double z, double tolerance)
{
    const double added = p->residual ? BOUND_UNIT * (fabs(z) + tolerance) : 0;
    const double off = tolerance + added, slope = (float)p->slope;
    if (p->activation == SBN_IDENTITY)
        return off;
    if (!isfinite(z))
        return 0;
    const double from = z - off, to = z + off, right = fusion_activation(p, z);
    double most = fmax(fabs(fusion_activation(p, from) - right),
                       fabs(fusion_activation(p, to) - right));
    if (from < 0 && to > 0)
        most = fmax(most, fabs(right));
    if (p->activation == SBN_LEAKY_RELU && from < 0)
        most += BOUND_UNIT * fabs(slope * from) + BOUND_UNDERFLOW;
    return most;
}

float fusion_result(const problem *p, float z)
{
    const float slope = (float)p->slope;
    switch (p->activation) {
    case SBN_RELU: return z <= 0.0f ? 0.0f : z;
    case SBN_LEAKY_RELU: return (z > 0.0f ? z : z * slope) + 0.0f;
    default: return z;
    }
}

float fusion_gradient(const problem *p, float z, float dy)
{
    const float slope = (float)p->slope;
    switch (p->activation) {
    case SBN_RELU: return z <= 0.0f ? 0.0f : dy;
    case SBN_LEAKY_RELU: return z > 0.0f ? dy : slope * dy;
    default: return dy;
    }
}

int fusion_behind(const problem *p, const placement *g, const float *dy, const float *z,
                  float **behind)
{
    float *made = *behind = malloc((g->elements + 1) * sizeof *made);
    for (size_t i = 0; made && i < g->elements; ++i) {
        /* From the output the sign is that of y as it is stored. */
        const float y = z && p->from_output ? element_round(p->type, fusion_result(p, z[i])) : 0;
        made[i] = z ? fusion_gradient(p, p->from_output ? y : z[i], dy[i]) : dy[i];
    }
    return made ? SBN_SUCCESS : SBN_OUT_OF_MEMORY;
}
