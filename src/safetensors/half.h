/* The 16-bit types of files, IEEE half and bfloat16, to and from a float. */
#pragma once

#include <stdint.h>

float sbn__float_of_half(uint16_t bits);
float sbn__float_of_bfloat(uint16_t bits);

/* Rounded to nearest, ties to even; what is too large becomes an infinity. */
uint16_t sbn__half_of_float(float value);
uint16_t sbn__bfloat_of_float(float value);
