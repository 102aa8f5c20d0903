/*
 * Calls of many ranks, whose headers and mismatches are added by hand: what
 * each rank is told when they do not agree.
 */
#ifndef TESTS_SUPPORT_CALLS_H
#define TESTS_SUPPORT_CALLS_H

#include "collective/agreement.h"
#include "base/error.h"
#include "collective/mismatch.h"
#include "support/tap.h"

/* A rank's call; there is room for settings of its layer. */
typedef sbn_call call_of(int rank, sbn_settings *settings);

/* Backward of layer "odd" with 3 channels and the usual settings. */
sbn_call call_usual(sbn_settings *settings);

#define LAYER "backward of layer \"odd\" with 3 channels"
#define DISAGREE "the ranks disagree: all ranks called " LAYER
#define DIFFERENT "the ranks made different calls: "

/* Do the sums of all headers say that all agree? */
int calls_agree(call_of *of, int world_size);

/* The sum of all mismatches, to be freed. */
int64_t *calls_mismatch(call_of *of, int world_size);

/* One check: they disagree, and the sentence about the layer in `place` is this one. */
void calls_say(const char *what, call_of *of, int world_size, size_t place, const char *expected);

#endif
