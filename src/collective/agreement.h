/*
 * The check that all ranks make the same call. Each pass begins with a header, added over the ranks:
 * whether any reports an error, how many end the call at once, and for every small field f both f and
 * f^2. All ranks' fields are equal if and only if P sum f^2 = (sum f)^2, so every rank decides alike
 * from the sums alone. The fields are the call's number, how many words it is to send, and a digest of
 * its layers. Only after a difference do ranks exchange more: src/collective/mismatch.h.
 *
 * Forecast. Words that all ranks expect travel behind the header, in one request: training repeats its
 * calls. Ranks that differ must still send requests of the same size. So the forecast depends only on calls
 * that all ranks agreed on and that each ended before it began its next one. A rank that makes another call
 * sends as many words, all 0: communicator.forecast.words, behind every header.
 */
#pragma once

#include "collective/communicator.h"
#include "collective/settings.h"

/* A call that a rank is about to make with a layer. */
typedef struct sbn_call {
    const char *operation;        /* "forward"; of static life */
    const char *name;             /* of the layer */
    const sbn_settings *settings; /* the layer's; NULL where the call has no layer */
    uint32_t number;              /* calls of this group before */
    uint32_t code;                /* SBN_CODE_... */
    uint32_t flags;               /* of the call, those that must be equal on all ranks */
    uint32_t channels;            /* 0: the call has no such layer */
    uint32_t saved, saved_place;  /* which forward a backward belongs to, and which layer of it */
    int error;                    /* this rank cannot take part: its status */
} sbn_call;

/* The operations' codes; src/collective/mismatch.c names them. */
enum {
    SBN_CODE_NOTHING, /* of no operation */
    SBN_CODE_FORWARD,
    SBN_CODE_BACKWARD,
    SBN_CODE_EVALUATION,
    SBN_CODE_FROZEN_BACKWARD,
    SBN_CODE_SPLIT, /* from here on calls of no layer */
    SBN_CODE_PARALLEL
};

#define SBN_HEADER_FIELDS 8
#define SBN_HEADER_WORDS (2 + 2 * SBN_HEADER_FIELDS)

/* A digest of a call without its number and error: src/base/digest.h. */
uint64_t sbn__call_digest(uint64_t digest, const sbn_call *call);

/* `at_once`: this rank begins no other call before this one has ended. 0 in splits: not to be learnt. */
void sbn__header_fill(int64_t *header, int error, int at_once, uint32_t number, uint32_t words,
                      uint64_t digest);

/*
 * Reads the sums: 1 if no rank reports an error and all agree. If all ranks also end the call at once, the
 * forecast learns its number of words.
 */
int sbn__header_agrees(sbn_communicator *communicator, const int64_t *header, size_t words);

/* 1 if all ranks end the call at once. */
int sbn__header_at_once(const sbn_communicator *communicator, const int64_t *header);
