/*
 * Fixed-point windows: which bits of a sum are kept (cl/sum.cl says how terms
 * enter them). The same numbers reach the kernels as macros, from here alone.
 *
 * A pass first runs in its narrow window, which holds what training produces;
 * channels that do not fit are redone in the wide one, which holds every
 * float. The order of summation, block size included, is the library's
 * promise of equal bits: changing anything here changes results.
 */
#ifndef SBN_SRC_WINDOW_H
#define SBN_SRC_WINDOW_H

#include <stddef.h>
#include <stdint.h>

/* Of the order of summation: doc/order.md. Members must have the same. */
#define SBN_ORDER_VERSION 0

/* Elements of a plane that are summed in floats before their sum becomes an integer. */
#define SBN_BLOCK 1024

/* Blocks of one channel and replica: digits hold three terms of 32 bits a block. */
#define SBN_MAX_BLOCKS ((size_t)1 << 29)

/* Bits of the fixed-point digits that kernels leave, and of those that are sent. */
#define SBN_DIGIT_BITS 32
#define SBN_WIRE_BITS 48

/* Flags of a channel, as in cl/sum.cl. */
enum {
    SBN_FLAG_PLUS_INF = 1,
    SBN_FLAG_MINUS_INF = 2,
    SBN_FLAG_OVER = 4,
    SBN_FLAG_CLEAR = 8,
    SBN_FLAG_FAINT = 16,
    SBN_FLAGS = 5
};

typedef struct sbn_window {
    int low1, digits1; /* first sum: digits of 32 bits, the lowest in units of 2^-low1 */
    int low2, digits2; /* second sum */
    int limit_pivot;   /* a block fits below 2^these */
    int limit_sum, limit_second;
    int clear; /* a block is clear of the bottom from 2^this on */
    int wide;
} sbn_window;

extern const sbn_window sbn_forward_narrow, sbn_backward_narrow, sbn_wide;

/* Words per channel that kernels leave: both sums' digits and the flags. */
size_t sbn_window_words(const sbn_window *window);

/* Words per channel that are sent: digits of 48 bits, so that 4095 members' add without carry. */
size_t sbn_wire_words(const sbn_window *window);
int sbn_wire_digits1(const sbn_window *window);
int sbn_wire_digits2(const sbn_window *window);

/* Writes the macros of a pass ("FORWARD", "BACKWARD") for its window; returns snprintf's length. */
int sbn_window_macros(const sbn_window *window, const char *pass, char *out, size_t size);

#endif
