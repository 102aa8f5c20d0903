/* How a file's tensors belong to layers: the keys of PyTorch's state dict. */
#pragma once

#include "safetensors/header.h"

enum { SBN_WEIGHT, SBN_BIAS, SBN_MEAN, SBN_VAR, SBN_BATCHES, SBN_KEYS };

/*
 * The key of a tensor of the layer whose name has `length` bytes: "features.1.weight"; to be freed.
 * NULL without memory.
 */
char *sbn__key(const char *layer, size_t length, int which);

/* Finds the tensor of that key; *found is NULL if the file has none. */
int sbn__key_find(const sbn_tensor_header *header, const char *layer, size_t length, int which,
                  const sbn_tensor **found);

/* Returns which of a layer's tensors a key names, and the length of the layer's name in it; or -1. */
int sbn__key_split(const char *key, size_t *layer_length);

/* 1 if a tensor's type and shape are those of a layer's tensor. */
int sbn__key_fits(const sbn_tensor *tensor, int which, size_t channels);

/* The sentence for a tensor that does not fit: SBN_KEY_MISMATCH. */
int sbn__key_misfit(const sbn_tensor *tensor, int which, size_t channels);

/* 1 if the layer has such a tensor. */
int sbn__key_expected(int which, int affine, int tracks);
