/* The activations that a layer may apply. */
#pragma once

#include <syncbn/batchnorm.h>

enum { SBN_ACTIVATIONS = SBN_LEAKY_RELU + 1 };

/*
 * What is fused into a layer's passes, as a number. 0: nothing. The last two are those of a backward
 * pass from the output: with nothing else, and with a leaky ReLU.
 */
enum { SBN_FUSED_FROM_OUTPUT = 2 * SBN_ACTIVATIONS, SBN_FUSIONS = SBN_FUSED_FROM_OUTPUT + 2 };

static inline int sbn__fusion_of(sbn_activation activation, int residual, int from_output)
{
    return from_output ? SBN_FUSED_FROM_OUTPUT + (activation == SBN_LEAKY_RELU)
                       : (int)activation + SBN_ACTIVATIONS * residual;
}

static inline int sbn__fusion_from_output(int fusion)
{
    return fusion >= SBN_FUSED_FROM_OUTPUT;
}

static inline sbn_activation sbn__fusion_activation(int fusion)
{
    if (sbn__fusion_from_output(fusion))
        return fusion > SBN_FUSED_FROM_OUTPUT ? SBN_LEAKY_RELU : SBN_IDENTITY;
    return (sbn_activation)(fusion % SBN_ACTIVATIONS);
}

static inline int sbn__fusion_residual(int fusion)
{
    return !sbn__fusion_from_output(fusion) && fusion >= SBN_ACTIVATIONS;
}

/* 1 if step 1 of the backward pass differs: not by a residual alone. */
static inline int sbn__fusion_sums(int fusion)
{
    return sbn__fusion_activation(fusion) != SBN_IDENTITY || sbn__fusion_from_output(fusion);
}
