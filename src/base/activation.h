/* The activations that a layer may apply. */
#ifndef SBN_BASE_ACTIVATION_H
#define SBN_BASE_ACTIVATION_H

#include <syncbn/batchnorm.h>

enum { SBN_ACTIVATIONS = SBN_LEAKY_RELU + 1 };

/* What is fused into a layer's passes, as a number. 0: nothing. */
enum { SBN_FUSIONS = 2 * SBN_ACTIVATIONS };

static inline int sbn__fusion_of(sbn_activation activation, int residual)
{
    return (int)activation + SBN_ACTIVATIONS * residual;
}

static inline sbn_activation sbn__fusion_activation(int fusion)
{
    return (sbn_activation)(fusion % SBN_ACTIVATIONS);
}

static inline int sbn__fusion_residual(int fusion)
{
    return fusion / SBN_ACTIVATIONS;
}

/* "SBN_RELU" */
const char *sbn__activation_name(sbn_activation activation);

#endif
