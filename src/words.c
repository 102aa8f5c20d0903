#include "words.h"

/* Flags are counted over at most 4095 members. */
#define COUNT_BITS 12
#define COUNT_MASK ((INT64_C(1) << COUNT_BITS) - 1)

#define DIGIT_MASK ((UINT64_C(1) << SBN_DIGIT_BITS) - 1)
#define WIRE_MASK ((UINT64_C(1) << SBN_WIRE_BITS) - 1)

sbn_words sbn_words_from_kernel(const int64_t *at, const sbn_window *window)
{
    return (sbn_words){
        .at = at,
        .window = window,
        .bits = SBN_DIGIT_BITS,
        .digits1 = window->digits1,
        .digits2 = window->digits2,
        .per_channel = sbn_window_words(window),
    };
}

sbn_words sbn_words_on_wire(const int64_t *at, const sbn_window *window)
{
    return (sbn_words){
        .at = at,
        .window = window,
        .bits = SBN_WIRE_BITS,
        .digits1 = sbn_wire_digits1(window),
        .digits2 = sbn_wire_digits2(window),
        .per_channel = sbn_wire_words(window),
    };
}

/* The digit that lies lowest in *carry, which keeps what is above it. */
static inline uint64_t next_digit(int64_t *carry)
{
    const uint64_t digit = (uint64_t)*carry & DIGIT_MASK;
    *carry >>= SBN_DIGIT_BITS;
    return digit;
}

/* Adds `count` digits of 32 bits to digits of 48: three have the bits of two. */
static inline void add_digits(const int64_t *digits, int count, int64_t *wire)
{
    int64_t carry = 0;
    for (; count >= 3; count -= 3, digits += 3, wire += 2) {
        carry += digits[0];
        const uint64_t a = next_digit(&carry);
        carry += digits[1];
        const uint64_t b = next_digit(&carry);
        carry += digits[2];
        const uint64_t c = next_digit(&carry);
        wire[0] += (int64_t)(a | (b & 0xffff) << 32);
        wire[1] += (int64_t)(b >> 16 | c << 16);
    }
    /* What is left above, sign included. */
    if (count > 0)
        carry += digits[0];
    if (count == 2) {
        const uint64_t a = next_digit(&carry);
        carry += digits[1];
        wire[0] += (int64_t)(a | ((uint64_t)carry & 0xffff) << 32);
        wire[1] += carry >> 16;
    } else if (count == 1) {
        wire[0] += (int64_t)((uint64_t)carry & WIRE_MASK);
        wire[1] += carry >> SBN_WIRE_BITS;
    } else {
        wire[0] += carry;
    }
}

void sbn_words_add(const sbn_words *words, size_t channels, int64_t *wire)
{
    const sbn_words to = sbn_words_on_wire(wire, words->window);
    for (size_t c = 0; c < channels; ++c, wire += to.per_channel) {
        const int64_t *from = sbn_words_of(words, c);
        add_digits(from, words->digits1, wire);
        add_digits(from + words->digits1, words->digits2, wire + to.digits1);
        wire[to.per_channel - 1] |= from[words->per_channel - 1];
    }
}

static inline void carry(int64_t *digits, int count)
{
    for (int k = 0; k + 1 < count; ++k) {
        digits[k + 1] += digits[k] >> SBN_WIRE_BITS;
        digits[k] &= (int64_t)WIRE_MASK;
    }
}

/* Bit i moves to place 12 i. */
static inline int64_t counts_of(int64_t flags)
{
    int64_t counts = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        counts |= (flags & INT64_C(1) << i) << i * (COUNT_BITS - 1);
    return counts;
}

static inline int64_t flags_of(int64_t counts)
{
    int64_t flags = 0;
    for (int i = 0; i < SBN_FLAGS; ++i)
        flags |= (int64_t)((counts >> i * COUNT_BITS & COUNT_MASK) != 0) << i;
    return flags;
}

void sbn_words_seal(int64_t *wire, const sbn_window *window, size_t channels)
{
    const sbn_words words = sbn_words_on_wire(wire, window);
    for (size_t c = 0; c < channels; ++c, wire += words.per_channel) {
        carry(wire, words.digits1);
        carry(wire + words.digits1, words.digits2);
        wire[words.per_channel - 1] = counts_of(wire[words.per_channel - 1]);
    }
}

void sbn_words_open(int64_t *wire, const sbn_window *window, size_t channels)
{
    const size_t per_channel = sbn_wire_words(window);
    for (size_t c = 0; c < channels; ++c, wire += per_channel)
        wire[per_channel - 1] = flags_of(wire[per_channel - 1]);
}
