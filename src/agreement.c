#include "agreement.h"

#include <stdio.h>
#include <string.h>

#include <syncbn/error.h>

#include "digest.h"

uint64_t sbn_call_digest(uint64_t digest, const sbn_call *call)
{
    const uint32_t numbers[] = {call->code, call->settings, call->channels, call->saved};
    digest = sbn_digest(digest, numbers, sizeof numbers);
    return sbn_digest(digest, call->name, strlen(call->name) + 1);
}

/* Fields of 16 bits: their squares' sum over 4095 members, times 4095, stays below 2^63. */
static void put_fields(int64_t **word, uint64_t value, int bits)
{
    for (int low = 0; low < bits; low += 16) {
        const int64_t field = (int64_t)(value >> low & 0xffffu);
        *(*word)++ = field;
        *(*word)++ = field * field;
    }
}

void sbn_header_fill(int64_t *header, int error, uint32_t number, uint32_t words, uint64_t digest)
{
    int64_t *word = header;
    *word++ = error != 0;
    put_fields(&word, number, 32);
    put_fields(&word, words, 32);
    put_fields(&word, digest, 64);
}

int sbn_header_agrees(const int64_t *header, int world_size)
{
    if (header[0] != 0)
        return 0;
    for (int i = 1; i < SBN_HEADER_WORDS; i += 2)
        if (world_size * header[i + 1] != header[i] * header[i])
            return 0;
    return 1;
}

/* A rank's slot. */
enum { SLOT_CODE, SLOT_ERROR, SLOT_CHANNELS, SLOT_SETTINGS, SLOT_SAVED, SLOT_NUMBER, SLOT_NAME };
#define NAME_WORDS 6
#define SLOT_WORDS (SLOT_NAME + NAME_WORDS)

size_t sbn_explanation_words(int world_size)
{
    return (size_t)world_size * SLOT_WORDS;
}

void sbn_explanation_fill(int64_t *words, int rank, const sbn_call *call)
{
    int64_t *slot = words + (size_t)rank * SLOT_WORDS;
    slot[SLOT_CODE] = call->code;
    slot[SLOT_ERROR] = call->error;
    slot[SLOT_CHANNELS] = call->channels;
    slot[SLOT_SETTINGS] = call->settings;
    slot[SLOT_SAVED] = call->saved;
    slot[SLOT_NUMBER] = call->number;
    char name[NAME_WORDS * sizeof(int64_t)] = "";
    snprintf(name, sizeof name, "%s", call->name);
    memcpy(slot + SLOT_NAME, name, sizeof name);
}

static const int64_t *slot_of(const int64_t *words, int rank)
{
    return words + (size_t)rank * SLOT_WORDS;
}

static int same_slot(const int64_t *words, int a, int b)
{
    return memcmp(slot_of(words, a), slot_of(words, b), sizeof(int64_t) * SLOT_WORDS) == 0;
}

int sbn_explanation_goes_on(const int64_t *words, int world_size)
{
    int same = words[SLOT_ERROR] == 0 && words[SLOT_CHANNELS] > 0;
    for (int rank = 1; rank < world_size; ++rank)
        same = same && same_slot(words, 0, rank);
    return same;
}

/* The first rank that called what this rank called stands for all of them. */
static int is_first(const int64_t *words, int rank)
{
    for (int r = 0; r < rank; ++r)
        if (same_slot(words, r, rank))
            return 0;
    return 1;
}

static int callers(const int64_t *words, int rank, int world_size)
{
    int count = 0;
    for (int r = 0; r < world_size; ++r)
        count += same_slot(words, r, rank);
    return count;
}

typedef struct writer {
    char *out;
    size_t size, used;
} writer;

#define WRITE(w, ...) \
    do { \
        const int length = (w)->used < (w)->size ? snprintf((w)->out + (w)->used, \
                                                            (w)->size - (w)->used, __VA_ARGS__) \
                                                 : 0; \
        (w)->used += length > 0 ? (size_t)length : 0; \
    } while (0)

/* "rank 1" or "ranks 1, 3" */
static void write_ranks(writer *w, const int64_t *words, int rank, int world_size)
{
    WRITE(w, callers(words, rank, world_size) > 1 ? "ranks " : "rank ");
    for (int r = 0, first = 1; r < world_size; ++r)
        if (same_slot(words, r, rank)) {
            WRITE(w, first ? "%d" : ", %d", r);
            first = 0;
        }
}

static const char *operation_name(int64_t code)
{
    static const char *const names[] = {
        [SBN_CODE_FORWARD] = "forward",       [SBN_CODE_BACKWARD] = "backward",
        [SBN_CODE_EVALUATION] = "evaluation", [SBN_CODE_FROZEN_BACKWARD] = "frozen backward",
        [SBN_CODE_SPLIT] = "sbn_group_split",
    };
    return code > 0 && code < (int64_t)(sizeof names / sizeof *names) ? names[code] : "nothing";
}

static void write_layer(writer *w, const int64_t *slot, size_t place)
{
    char name[NAME_WORDS * sizeof(int64_t)];
    memcpy(name, slot + SLOT_NAME, sizeof name);
    name[sizeof name - 1] = '\0';
    WRITE(w, " of layer \"%s\" with %lld channels", name, (long long)slot[SLOT_CHANNELS]);
    if (slot[SLOT_ERROR])
        return;
    if (place > 0)
        WRITE(w, " in place %zu", place + 1);
    WRITE(w, " (settings %08llx, forward %lld)", (long long)slot[SLOT_SETTINGS],
          (long long)slot[SLOT_SAVED]);
}

static void write_call(writer *w, const int64_t *words, size_t place, int rank, int world_size)
{
    const int64_t *slot = slot_of(words, rank);
    write_ranks(w, words, rank, world_size);
    WRITE(w, " called %s", operation_name(slot[SLOT_CODE]));
    if (slot[SLOT_CHANNELS] > 0)
        write_layer(w, slot, place);
    else if (slot[SLOT_CODE] != SBN_CODE_SPLIT && !slot[SLOT_ERROR])
        WRITE(w, " of %zu layer%s", place, place == 1 ? "" : "s");
    if (slot[SLOT_ERROR])
        WRITE(w, " and reported %s", sbn_strerror((int)slot[SLOT_ERROR]));
}

/* Rare calls first: most often they are the wrong ones. */
int sbn_explanation_read(const int64_t *words, size_t place, int rank, int world_size,
                         char *sentence, size_t size)
{
    writer w = {sentence, size, 0};
    int errors = 0;
    for (int r = 0; r < world_size; ++r)
        errors += slot_of(words, r)[SLOT_ERROR] != 0;
    WRITE(&w, errors ? "a rank cannot take part: " : "the ranks made different calls: ");
    for (int callers_wanted = 1, first = 1; callers_wanted <= world_size; ++callers_wanted)
        for (int r = 0; r < world_size; ++r) {
            if (!is_first(words, r) || callers(words, r, world_size) != callers_wanted)
                continue;
            if (errors && !slot_of(words, r)[SLOT_ERROR])
                continue;
            WRITE(&w, first ? "" : "; ");
            write_call(&w, words, place, r, world_size);
            first = 0;
        }
    const int own = (int)slot_of(words, rank)[SLOT_ERROR];
    return own ? own : errors ? SBN_REMOTE_ERROR : SBN_DISAGREEMENT;
}
