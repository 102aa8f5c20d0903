#include "collective/mismatch.h"

#include <stdio.h>
#include <string.h>

#include <syncbn/pass.h>

#include "base/digest.h"
#include "base/memory.h"
#include "base/text.h"
#include "collective/ranks.h"

/* A rank's slot: which call it made, and from TRAITS on what it made it with. */
#define NAME_WORDS 6
enum { CODE, ERROR, CHANNELS, NAME, TRAITS = NAME + NAME_WORDS };
enum { NUMBER = TRAITS, FLAGS, SAVED, SAVED_PLACE, SETTINGS, SLOT = SETTINGS + SBN_SETTINGS };

size_t sbn__mismatch_words(int world_size)
{
    return (size_t)world_size * SLOT;
}

/* Long names are shortened and made distinct by a digest. */
static void put_name(int64_t *words, const char *name)
{
    char text[NAME_WORDS * sizeof(int64_t)] = "";
    if (snprintf(text, sizeof text, "%s", name) >= (int)sizeof text)
        snprintf(text, sizeof text, "%.32s...%08x", name,
                 (unsigned)sbn__digest(SBN_DIGEST_START, name, strlen(name)));
    memcpy(words, text, sizeof text);
}

void sbn__mismatch_fill(int64_t *words, int rank, const sbn_call *call)
{
    int64_t *slot = words + (size_t)rank * SLOT;
    slot[CODE] = call->code;
    slot[ERROR] = call->error;
    slot[CHANNELS] = call->channels;
    put_name(slot + NAME, call->name);
    slot[NUMBER] = call->number;
    slot[FLAGS] = call->flags;
    slot[SAVED] = call->saved;
    slot[SAVED_PLACE] = call->saved_place;
    if (call->settings)
        memcpy(slot + SETTINGS, call->settings->words, sizeof call->settings->words);
}

static const int64_t *slot_of(const int64_t *words, int rank)
{
    return words + (size_t)rank * SLOT;
}

int sbn__mismatch_goes_on(const int64_t *words, int world_size)
{
    int same = words[ERROR] == 0 && words[CHANNELS] > 0;
    for (int rank = 1; rank < world_size; ++rank)
        same = same && memcmp(words, slot_of(words, rank), sizeof *words * SLOT) == 0;
    return same;
}

int sbn__mismatch_gives_up(const int64_t *words, int world_size)
{
    int gives_up = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        const int64_t error = slot_of(words, rank)[ERROR];
        gives_up = gives_up || error == SBN_TIMEOUT || error == SBN_ABORTED;
    }
    return gives_up;
}

#define SAY(out, ...) sbn__text_add(out, SBN_SENTENCE_SIZE, __VA_ARGS__)

/* "rank 1", "ranks 1, 3" or "all ranks" */
static void write_ranks(char *out, sbn_rank_sets *s, int set)
{
    char list[SBN_RANKS_SIZE] = "all ranks";
    if (s->size[set] < s->world_size)
        sbn__ranks_print(sbn__rank_sets_list(s, set), s->size[set], list, sizeof list);
    SAY(out, "%s", list);
}

static void write_flags(char *out, int64_t flags)
{
    const char *const names[] = {"SBN_KEEP_RUNNING_STATS", "SBN_ACCUMULATE_GRADIENTS",
                                 "SBN_GLOBAL_GRADIENTS"};
    const char *between = "";
    for (size_t bit = 0; bit < sizeof names / sizeof *names; ++bit)
        if (flags >> bit & 1) {
            SAY(out, "%s%s", between, names[bit]);
            between = " | ";
        }
    if (!*between)
        SAY(out, "0");
}

static void write_trait(char *out, int trait, int64_t word)
{
    char text[40];
    switch (trait) {
    case NUMBER:
    case SAVED: SAY(out, "%lld", (long long)word); break;
    case SAVED_PLACE: SAY(out, "%lld", (long long)((uint64_t)word + 1)); break;
    case FLAGS: write_flags(out, word); break;
    default: sbn__setting_print(trait - SETTINGS, word, text, sizeof text); SAY(out, "%s", text);
    }
}

/* "eps 0.001 on rank 1, 1e-05 on ranks 0, 2; ...": the settings in which one set of `calls` differs. */
static void write_traits(char *out, const int64_t *words, sbn_rank_sets *calls, int set,
                         sbn_rank_sets *values)
{
    static const char *const names[] = {"call number", "flags", "saved by call", "saved in place"};
    const char *before = " (";
    for (int trait = TRAITS; trait < SLOT; ++trait) {
        sbn__rank_sets_part(values, words + trait, SLOT, 1, calls, set);
        if (values->count == 1)
            continue;
        SAY(out, "%s%s", before,
            trait < SETTINGS ? names[trait - TRAITS] : sbn__setting_names[trait - SETTINGS]);
        before = "; ";
        for (int value = -1, n = 0; (value = sbn__rank_sets_next(values, value)) >= 0;) {
            SAY(out, n++ ? ", " : " ");
            write_trait(out, trait, slot_of(words, value)[trait]);
            SAY(out, " on ");
            write_ranks(out, values, value);
        }
    }
    if (*before == ';')
        SAY(out, ")");
}

static const char *operation_name(int64_t code)
{
    static const char *const names[] = {
        [SBN_CODE_NOTHING] = "nothing",
        [SBN_CODE_FORWARD] = "forward",
        [SBN_CODE_BACKWARD] = "backward",
        [SBN_CODE_EVALUATION] = "evaluation",
        [SBN_CODE_FROZEN_BACKWARD] = "frozen backward",
        [SBN_CODE_SPLIT] = "sbn_group_split",
        [SBN_CODE_PARALLEL] = "sbn_data_parallel_create",
    };
    return names[(uint64_t)code < sizeof names / sizeof *names ? code : SBN_CODE_NOTHING];
}

/* "rank 1 called forward of layer "second" with 3 channels" */
static void write_call(char *out, const int64_t *words, size_t place, sbn_rank_sets *calls, int set)
{
    const int64_t *slot = slot_of(words, set);
    write_ranks(out, calls, set);
    SAY(out, " called %s", operation_name(slot[CODE]));
    if (slot[CHANNELS] > 0)
        SAY(out, " of layer \"%.*s\" with %lld channels", (int)(NAME_WORDS * sizeof *slot),
            (const char *)(slot + NAME), (long long)slot[CHANNELS]);
    else if (slot[CODE] < SBN_CODE_SPLIT && !slot[ERROR])
        SAY(out, " of %zu layer%s", place, place == 1 ? "" : "s");
    if (slot[ERROR])
        SAY(out, " and reported %s", sbn_status_name((int)slot[ERROR]));
    else if (slot[CHANNELS] > 0 && place > 0)
        SAY(out, " in place %zu", place + 1);
}

static void write_sentence(char *out, const int64_t *words, size_t place, int errors,
                           sbn_rank_sets *calls, sbn_rank_sets *values)
{
    const char *between = "";
    sbn__rank_sets_part(calls, words, SLOT, TRAITS, NULL, 0);
    SAY(out, errors              ? "a rank cannot take part: "
             : calls->count == 1 ? "the ranks disagree: "
                                 : "the ranks made different calls: ");
    for (int set = -1; (set = sbn__rank_sets_next(calls, set)) >= 0;) {
        if (errors && !slot_of(words, set)[ERROR])
            continue;
        SAY(out, "%s", between);
        write_call(out, words, place, calls, set);
        if (!errors)
            write_traits(out, words, calls, set, values);
        between = "; ";
    }
}

int sbn__mismatch_read(const int64_t *words, size_t place, int rank, int world_size)
{
    char sentence[SBN_SENTENCE_SIZE] = "";
    sbn_rank_sets *sets = sbn__allocate(sizeof *sets * 2);
    int errors = 0;
    for (int r = 0; r < world_size; ++r)
        errors += slot_of(words, r)[ERROR] != 0;
    if (sets) {
        sets[0].world_size = sets[1].world_size = world_size;
        write_sentence(sentence, words, place, errors, &sets[0], &sets[1]);
    } else {
        SAY(sentence, "%s; no memory is left to say more",
            errors ? "a rank cannot take part" : "the ranks made different calls");
    }
    sbn__free(sets);
    const int error = (int)slot_of(words, rank)[ERROR];
    return sbn__fail(error ? error : errors ? SBN_REMOTE_ERROR : SBN_DISAGREEMENT, "%s", sentence);
}
