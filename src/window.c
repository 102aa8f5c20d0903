#include "window.h"

#include <stdio.h>

/* 256 p < 2^26, 256 p^2 < 2^44, 2 p A < 2^47, all below 2^48. */
const sbn_window sbn_forward_narrow = {
    .low1 = 64,
    .bits1 = 96,
    .low2 = 80,
    .bits2 = 128,
    .limit_pivot = 18,
    .limit_sum = 28,
    .limit_second = 47,
    .clear = -24,
};

/* Gradients are smaller: everything below 2^32, down to 2^-96. */
const sbn_window sbn_backward_narrow = {
    .low1 = 96,
    .bits1 = 128,
    .low2 = 96,
    .bits2 = 128,
    .limit_pivot = 20,
    .limit_sum = 31,
    .limit_second = 31,
    .clear = -56,
};

/* Every float: sums below 2^160, products below 2^288, both down to 2^-160. */
const sbn_window sbn_wide = {
    .low1 = 160,
    .bits1 = 320,
    .low2 = 160,
    .bits2 = 448,
    .clear = -148,
    .wide = 1,
};

static int digits_of(int bits)
{
    return (bits + SBN_DIGIT_BITS - 1) / SBN_DIGIT_BITS;
}

int sbn_digits1(const sbn_window *window)
{
    return digits_of(window->bits1 + 32);
}

int sbn_digits2(const sbn_window *window)
{
    return digits_of(window->bits2 + 32);
}

size_t sbn_window_words(const sbn_window *window)
{
    return (size_t)(sbn_digits1(window) + sbn_digits2(window) + 1);
}

static const char *limit(char *out, size_t size, const sbn_window *window, int exponent)
{
    if (window->wide)
        return "INFINITY";
    snprintf(out, size, "0x1p%df", exponent);
    return out;
}

int sbn_window_macros(const sbn_window *window, const char *pass, char *out, size_t size)
{
    char pivot[16], sum[16], second[16];
    return snprintf(
        out, size,
        "-D %s_LOW1=%d -D %s_PLACED1=%d -D %s_DIGITS1=%d "
        "-D %s_LOW2=%d -D %s_PLACED2=%d -D %s_DIGITS2=%d -D %s_WORDS=%zu "
        "-D %s_LIMIT_PIVOT=%s -D %s_LIMIT_SUM=%s -D %s_LIMIT_SECOND=%s -D %s_CLEAR=0x1p%df ",
        pass, window->low1, pass, digits_of(window->bits1), pass, sbn_digits1(window), pass,
        window->low2, pass, digits_of(window->bits2), pass, sbn_digits2(window), pass,
        sbn_window_words(window), pass, limit(pivot, sizeof pivot, window, window->limit_pivot),
        pass, limit(sum, sizeof sum, window, window->limit_sum), pass,
        limit(second, sizeof second, window, window->limit_second), pass, window->clear);
}
