/*
 * The order of summation and the fixed-point formats: which terms are added in floats, and which bits of a sum are kept
 * (cl/common/accumulator.cl says how terms enter them). The kernels get the same numbers as macros, from here alone.
 *
 * A pass has a narrow format, which holds what training produces. A block that does not fit it is added to the
 * channel's other accumulator, in the wide format, which holds every float. The order of summation, block size
 * included, is the library's promise of equal bits: any change in this file changes results.
 */
#pragma once

#include <stddef.h>

/* Elements of a plane that are summed in floats before their sum becomes an integer. */
#define SBN_BLOCK 256

/* A block's float sums: lane l adds the elements l, l + SBN_LANES, ... */
#define SBN_LOG2_LANES 4
#define SBN_LANES (1 << SBN_LOG2_LANES)

/* Blocks of one channel and replica. */
#define SBN_MAX_BLOCKS ((size_t)1 << 29)

/*
 * Bits of a limb, held in an int64: the limbs of 4095 ranks add up without a carry. Those of the
 * wide format are shorter, so that all blocks of a channel add up without one.
 */
#define SBN_LIMB_BITS 48
#define SBN_WIDE_LIMB_BITS 32

/* Flags of a channel, a set of bits in the last int64 of its accumulator. */
enum {
    SBN_FLAG_PLUS_INF = 1, /* the first sum met +Inf; with SBN_FLAG_MINUS_INF as well, it is NaN */
    SBN_FLAG_MINUS_INF = 2,
    SBN_FLAG_OVERFLOW = 4, /* a block's squares or products exceed floats: the second sum is lost */
    SBN_FLAG_WIDE = 8,     /* there are terms in the wide accumulator */
    SBN_FLAGS = 4          /* how many there are */
};

/* A sum has one limb more than its terms, with room for 2^31 blocks of them and a sign. */
typedef struct sbn_format {
    int low1, limbs1; /* first sum: its lowest bit is worth 2^-low1 */
    int low2, limbs2; /* second sum */
    int limit_pivot;  /* a block fits below 2^these */
    int limit_sum, limit_second;
    int clear;       /* a block is clear of the lowest bit from 2^this on, */
    double thin_eps; /* ... or later where eps is smaller than this */
    int limb_bits;
} sbn_format;

extern const sbn_format sbn_forward_narrow, sbn_backward_narrow, sbn_wide;

/* Write build options (-D): what all programs share, and the narrow format of the pass for which a program sums. */
void sbn__summation_macros(char *out, size_t size);
void sbn__format_macros(const sbn_format *format, char *out, size_t size);
