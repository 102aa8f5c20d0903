/*
 * Digests of a problem's numbers, as a list carries them behind the problem:
 *
 *   mb8ic16,global order=2 inputs=0123456789abcdef mean=... var=... y=...
 *
 * the version of the order of summation (doc/order.md), which fixes all others; the
 * inputs', which tells a machine that makes other numbers from one that computes
 * others; and that of every output that the problem has.
 */
#pragma once

#include "check/inputs.h"
#include "check/outputs.h"

typedef struct digests {
    unsigned long order; /* 0: there are none */
    uint64_t inputs;
    uint64_t of[OUTPUTS]; /* 0: the problem has no such output */
} digests;

enum { DIGESTS_TEXT = 512 };

/* Of what was computed here. */
void digests_take(const placement *g, const inputs *in, const outputs *out, digests *d);

/* Reads the words behind a problem, which may be none. Returns 0, or -1 with a sentence. */
int digests_parse(const char *words, digests *d, char *error, size_t error_size);

/* Writes these words; "" if there are none. */
void digests_print(const digests *d, char *text, size_t size);

/* 0 if they are the same; else 1, with a sentence that names what differs. */
int digests_differ(const digests *recorded, const digests *here, char *text, size_t size);
