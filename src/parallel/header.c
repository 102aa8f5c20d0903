#include "parallel/header.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "collective/ranks.h"

/* A rank's slot. */
enum { ERROR, AVERAGES, TENSORS, FLOATS, DIGEST, SLOT };

size_t sbn__exchange_header_words(const sbn_data_parallel *parallel)
{
    return SLOT * (size_t)sbn__communicator_world_size(&parallel->communicator);
}

void sbn__exchange_header_fill(sbn_exchange *e)
{
    int64_t *words = e->header.words;
    memset(words, 0, sizeof *words * sbn__exchange_header_words(e->parallel));
    int64_t *slot = words + SLOT * sbn__communicator_rank(&e->parallel->communicator);
    slot[ERROR] = e->error;
    slot[AVERAGES] = e->averages;
    slot[TENSORS] = (int64_t)e->tensors;
    slot[FLOATS] = (int64_t)e->floats;
    slot[DIGEST] = (int64_t)e->digest;
}

static const int64_t *slot_of(const int64_t *words, int rank)
{
    return words + (size_t)SLOT * (size_t)rank;
}

static int same(const int64_t *words, int a, int b)
{
    return memcmp(slot_of(words, a), slot_of(words, b), sizeof *words * SLOT) == 0;
}

/* "ranks 1, 3" */
static void name_ranks(const sbn_data_parallel *parallel, int *ranks, int count, char *out,
                       size_t size)
{
    for (int i = 0; i < count; ++i)
        ranks[i] = sbn__communicator_name(&parallel->communicator, ranks[i]);
    sbn__ranks_print(ranks, count, out, size);
}

void sbn__exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out, size_t size)
{
    snprintf(out, size, "%s of %llu tensor%s, %llu float%s", averages ? "averaging" : "broadcast",
             (unsigned long long)tensors, tensors == 1 ? "" : "s", (unsigned long long)floats,
             floats == 1 ? "" : "s");
}

static size_t describe(const int64_t *slot, const char *ranks, char *out, size_t size)
{
    char call[64];
    sbn__exchange_describe(slot[AVERAGES] != 0, (uint64_t)slot[TENSORS], (uint64_t)slot[FLOATS],
                           call, sizeof call);
    const int length = slot[ERROR] ? snprintf(out, size, "%s began %s and reported %s", ranks,
                                              slot[AVERAGES] ? "averaging" : "broadcast",
                                              sbn_status_name((int)slot[ERROR]))
                                   : snprintf(out, size, "%s began %s (settings %08x)", ranks, call,
                                              (unsigned)((uint64_t)slot[DIGEST] >> 32));
    return length > 0 ? (size_t)length : 0;
}

/*
 * Small sets of ranks come first, as they are usually the wrong ones. If there are errors, only
 * those are reported.
 */
static void write_sentence(const sbn_exchange *e, const int64_t *words, int errors, char *out,
                           size_t size)
{
    const int world_size = sbn__communicator_world_size(&e->parallel->communicator);
    int *room = sbn__allocate(sizeof *room * 3 * (size_t)world_size);
    size_t used = (size_t)snprintf(out, size, "%s",
                                   errors ? "a rank cannot take part"
                                          : "the ranks began different exchanges");
    const char *between = ": ";
    if (!room)
        return;
    int *ranks = room + 2 * (size_t)world_size;
    sbn_rank_sets sets = {world_size, 0, room, room + world_size};
    sbn__rank_sets_part(&sets, words, SLOT, SLOT, NULL, 0);
    for (int set = -1; (set = sbn__rank_sets_next(&sets, set)) >= 0;) {
        const int64_t *slot = slot_of(words, set);
        char names[SBN_RANKS_SIZE];
        if ((errors && !slot[ERROR]) || used + 3 > size)
            continue;
        used += (size_t)snprintf(out + used, size - used, "%s", between);
        name_ranks(e->parallel, ranks, sbn__rank_sets_list(&sets, set, ranks), names, sizeof names);
        used += describe(slot, names, out + used, size - used);
        between = "; ";
    }
    sbn__free(room);
}

int sbn__exchange_header_read(const sbn_exchange *e)
{
    const int64_t *words = e->header.words;
    const int world_size = sbn__communicator_world_size(&e->parallel->communicator);
    int errors = 0, differ = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        errors += slot_of(words, rank)[ERROR] != 0;
        differ += !same(words, rank, 0);
    }
    if (e->error)
        return sbn__fail(e->error, "%s", e->sentence);
    if (!errors && !differ)
        return SBN_SUCCESS;
    char sentence[SBN_SENTENCE_SIZE];
    write_sentence(e, words, errors, sentence, sizeof sentence);
    return sbn__fail(errors ? SBN_REMOTE_ERROR : SBN_DISAGREEMENT, "%s", sentence);
}

enum { PER_WORD = 4, STATUS_BITS = 16 };

size_t sbn__status_words(const sbn_data_parallel *parallel)
{
    return ((size_t)sbn__communicator_world_size(&parallel->communicator) + PER_WORD - 1) /
           PER_WORD;
}

void sbn__status_fill(const sbn_data_parallel *parallel, int status, int64_t *words)
{
    const int rank = sbn__communicator_rank(&parallel->communicator);
    words[rank / PER_WORD] = (int64_t)((uint64_t)-status << rank % PER_WORD * STATUS_BITS);
}

static int status_of(const int64_t *words, int rank)
{
    return -(int)((uint64_t)words[rank / PER_WORD] >> rank % PER_WORD * STATUS_BITS & 0xffffu);
}

int sbn__status_read(const sbn_exchange *e, const int64_t *words)
{
    const int world_size = sbn__communicator_world_size(&e->parallel->communicator);
    int first = 0;
    for (int rank = 0; rank < world_size && !first; ++rank)
        first = status_of(words, rank);
    if (!first)
        return SBN_SUCCESS;
    if (e->error)
        return sbn__fail(e->error, "%s", e->sentence);
    char names[SBN_RANKS_SIZE] = "a rank";
    int *ranks = sbn__allocate(sizeof *ranks * (size_t)world_size), count = 0;
    for (int rank = 0; rank < world_size && ranks; ++rank)
        if (status_of(words, rank) == first)
            ranks[count++] = rank;
    if (ranks)
        name_ranks(e->parallel, ranks, count, names, sizeof names);
    sbn__free(ranks);
    return sbn__fail(SBN_REMOTE_ERROR, "%s reported %s in %s", names, sbn_status_name(first),
                     e->name);
}
