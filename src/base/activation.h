/* The activations that a layer may apply. */
#ifndef SBN_BASE_ACTIVATION_H
#define SBN_BASE_ACTIVATION_H

#include <syncbn/batchnorm.h>

enum { SBN_ACTIVATIONS = SBN_LEAKY_RELU + 1 };

/* "SBN_RELU" */
const char *sbn__activation_name(sbn_activation activation);

#endif
