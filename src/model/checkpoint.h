/* How a file's tensors belong to layers: the keys of PyTorch's state dict. */
#ifndef SBN_MODEL_CHECKPOINT_H
#define SBN_MODEL_CHECKPOINT_H

#include <syncbn/checkpoint.h>

#include "model/safetensors.h"

enum { SBN_WEIGHT, SBN_BIAS, SBN_MEAN, SBN_VAR, SBN_BATCHES, SBN_KEYS };

/* Can a layer of this name have keys? JSON has UTF-8 alone. */
int sbn__check_name(const char *name);

/* The key of a layer's tensor: "features.1.weight"; to be freed. NULL without memory. */
char *sbn__key(const char *layer, int which);

/* Which of a layer's tensors a key means, and how long the layer's name before it is; or -1. */
int sbn__key_split(const char *key, size_t *layer_length);

/* Is a tensor fit to be that of a layer? */
int sbn__key_fits(const sbn_tensor *tensor, int which, size_t channels);

/* The sentence for one that is not: SBN_KEY_MISMATCH. */
int sbn__key_misfit(const sbn_tensor *tensor, int which, size_t channels);

/* Does the layer have such a tensor? */
int sbn__key_expected(int which, int affine, int tracks);

#endif
