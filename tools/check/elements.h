/*
 * How x, y, dy and dx lie in memory: their bytes, and their values as floats, which hold those of
 * every type exactly.
 */
#pragma once

#include "base/type.h"

/* "f32", "f16", "bf16": indexed by sbn_type. */
extern const char *const type_names[SBN_TYPES];

/* The value of the type that is nearest, ties to even; an infinity where IEEE 754 says so. */
float element_round(sbn_type type, float value);

/* The distance from a value of the type to the next one that is larger in size. */
float element_step(sbn_type type, float value);

/* Rounds floats into elements, and widens elements to floats. */
void elements_pack(sbn_type type, const float *values, size_t count, void *elements);
void elements_unpack(sbn_type type, const void *elements, size_t count, float *values);

/*
 * Fills elements with the value around and in buffers that no right result has, so that what a pass
 * left alone, or wrote where it should not, is seen.
 */
void elements_spoil(sbn_type type, size_t count, void *elements);
