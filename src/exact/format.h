/*
 * Fixed-point formats: which bits of a sum are kept (cl/sum.cl says how terms
 * enter them). The same numbers reach the kernels as macros, from here alone.
 *
 * A pass first runs in its narrow format, which holds what training produces;
 * channels that do not fit are redone in the wide one, which holds every
 * float. The order of summation, block size included, is the library's
 * promise of equal bits: changing anything here changes results.
 */
#ifndef SBN_EXACT_FORMAT_H
#define SBN_EXACT_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* Elements of a plane that are summed in floats before their sum becomes an integer. */
#define SBN_BLOCK 256

/* Blocks of one channel and replica. */
#define SBN_MAX_BLOCKS ((size_t)1 << 29)

/* Bits of a fixed-point digit, held in an int64: 4095 ranks' add up without a carry. */
#define SBN_DIGIT_BITS 48

/* Flags of a channel, as in cl/sum.cl. */
enum {
    SBN_FLAG_PLUS_INF = 1,
    SBN_FLAG_MINUS_INF = 2,
    SBN_FLAG_OVER = 4,
    SBN_FLAG_CLEAR = 8,
    SBN_FLAG_FAINT = 16,
    SBN_FLAGS = 5
};

typedef struct sbn_format {
    int low1, bits1; /* first sum: bits of a term, the lowest worth 2^-low1 */
    int low2, bits2; /* second sum */
    int limit_pivot; /* a block fits below 2^these */
    int limit_sum, limit_second;
    int clear; /* a block is clear of the bottom from 2^this on */
    int wide;
} sbn_format;

extern const sbn_format sbn_forward_narrow, sbn_backward_narrow, sbn_wide;

/* Digits of both sums: room for their terms' bits, 2^31 blocks of them and a sign. */
int sbn__digits1(const sbn_format *format);
int sbn__digits2(const sbn_format *format);

/* Words per channel: both sums' digits and the flags. */
size_t sbn__format_words(const sbn_format *format);

/* Writes the macros of a pass ("FORWARD", "BACKWARD") for its format; returns snprintf's length. */
int sbn__format_macros(const sbn_format *format, const char *pass, char *out, size_t size);

#endif
