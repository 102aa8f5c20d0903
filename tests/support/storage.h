/* The storage types on the host, by the C library's arithmetic alone, and buffers of them. */
#ifndef TESTS_SUPPORT_STORAGE_H
#define TESTS_SUPPORT_STORAGE_H

#include <syncbn.h>

#include "program/opencl.h"

/* "f16" */
const char *storage_name(sbn_type type);
size_t storage_size(sbn_type type);

/* The value of an element's bits, and the bits of the element that is nearest to a float. */
float storage_widen(sbn_type type, uint32_t bits);
uint32_t storage_round(sbn_type type, float value);

/* Element i of an array of this type, as bits. */
uint32_t storage_get(sbn_type type, const void *elements, size_t i);
void storage_put(sbn_type type, void *elements, size_t i, uint32_t bits);

/* 1 if the bits are equal, or both of a NaN. */
int storage_same(sbn_type type, uint32_t a, uint32_t b);

#endif
