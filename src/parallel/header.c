#include "parallel/header.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* A rank's slot. */
enum { ERROR, AVERAGES, TENSORS, FLOATS, DIGEST, SLOT };

size_t sbn__exchange_header_words(const sbn_parallel *parallel)
{
    return SLOT * (size_t)sbn_group_world_size(parallel->own);
}

void sbn__exchange_header_fill(const sbn_exchange *e, int64_t *words)
{
    memset(words, 0, sizeof *words * sbn__exchange_header_words(e->parallel));
    int64_t *slot = words + SLOT * sbn_group_rank(e->parallel->own);
    slot[ERROR] = e->error;
    slot[AVERAGES] = e->averages;
    slot[TENSORS] = (int64_t)e->tensors;
    slot[FLOATS] = (int64_t)e->floats;
    slot[DIGEST] = (int64_t)e->digest;
}

static const int64_t *slot_of(const int64_t *words, int member)
{
    return words + (size_t)SLOT * (size_t)member;
}

static int same(const int64_t *words, int a, int b)
{
    return memcmp(slot_of(words, a), slot_of(words, b), sizeof *words * SLOT) == 0;
}

/* Fills `chosen` with those who began what `rank` began; their number, 0 if one came before. */
static int alike(const int64_t *words, int member, int world_size, unsigned char *chosen)
{
    int count = 0;
    for (int other = 0; other < world_size; ++other) {
        chosen[other] = (unsigned char)same(words, other, member);
        if (chosen[other] && other < member)
            return 0;
        count += chosen[other];
    }
    return count;
}

void sbn__exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out, size_t size)
{
    snprintf(out, size, "%s of %llu tensor%s, %llu float%s", averages ? "averaging" : "broadcast",
             (unsigned long long)tensors, tensors == 1 ? "" : "s", (unsigned long long)floats,
             floats == 1 ? "" : "s");
}

static size_t describe(const sbn_parallel *parallel, const int64_t *slot,
                       const unsigned char *chosen, char *out, size_t size)
{
    char ranks[160], call[64];
    sbn__parallel_name_ranks(parallel, chosen, ranks, sizeof ranks);
    sbn__exchange_describe(slot[AVERAGES] != 0, (uint64_t)slot[TENSORS], (uint64_t)slot[FLOATS],
                           call, sizeof call);
    const int length = slot[ERROR] ? snprintf(out, size, "%s began %s and reported %s", ranks,
                                              slot[AVERAGES] ? "averaging" : "broadcast",
                                              sbn_status_name((int)slot[ERROR]))
                                   : snprintf(out, size, "%s began %s (settings %08x)", ranks, call,
                                              (unsigned)((uint64_t)slot[DIGEST] >> 32));
    return length > 0 ? (size_t)length : 0;
}

/* Rare ones first: most often they are the wrong ones. Where there are errors, those alone. */
static void write_sentence(const sbn_exchange *e, const int64_t *words, int errors, char *out,
                           size_t size)
{
    const int world_size = sbn_group_world_size(e->parallel->own);
    unsigned char *chosen = sbn__allocate((size_t)world_size);
    size_t used = (size_t)snprintf(out, size, "%s",
                                   errors ? "a rank cannot take part"
                                          : "the ranks began different exchanges");
    const char *between = ": ";
    for (int wanted = 1; wanted <= world_size && chosen; ++wanted)
        for (int member = 0; member < world_size; ++member) {
            const int64_t *slot = slot_of(words, member);
            if ((errors && !slot[ERROR]) || alike(words, member, world_size, chosen) != wanted ||
                used + 3 > size)
                continue;
            used += (size_t)snprintf(out + used, size - used, "%s", between);
            used += describe(e->parallel, slot, chosen, out + used, size - used);
            between = "; ";
        }
    sbn__free(chosen);
}

int sbn__exchange_header_read(const sbn_exchange *e, const int64_t *words)
{
    const int world_size = sbn_group_world_size(e->parallel->own);
    int errors = 0, differ = 0;
    for (int member = 0; member < world_size; ++member) {
        errors += slot_of(words, member)[ERROR] != 0;
        differ += !same(words, member, 0);
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

size_t sbn__status_words(const sbn_parallel *parallel)
{
    return ((size_t)sbn_group_world_size(parallel->own) + PER_WORD - 1) / PER_WORD;
}

void sbn__status_fill(const sbn_parallel *parallel, int status, int64_t *words)
{
    const int member = sbn_group_rank(parallel->own);
    words[member / PER_WORD] = (int64_t)((uint64_t)-status << member % PER_WORD * STATUS_BITS);
}

static int status_of(const int64_t *words, int member)
{
    return -(int)((uint64_t)words[member / PER_WORD] >> member % PER_WORD * STATUS_BITS & 0xffffu);
}

int sbn__status_read(const sbn_exchange *e, const int64_t *words)
{
    const int world_size = sbn_group_world_size(e->parallel->own);
    int first = 0;
    for (int member = 0; member < world_size && !first; ++member)
        first = status_of(words, member);
    if (!first)
        return SBN_SUCCESS;
    if (e->error)
        return sbn__fail(e->error, "%s", e->sentence);
    char ranks[160] = "a rank";
    unsigned char *chosen = sbn__allocate((size_t)world_size);
    for (int member = 0; member < world_size && chosen; ++member)
        chosen[member] = status_of(words, member) == first;
    if (chosen)
        sbn__parallel_name_ranks(e->parallel, chosen, ranks, sizeof ranks);
    sbn__free(chosen);
    return sbn__fail(SBN_REMOTE_ERROR, "%s reported %s in %s", ranks, sbn_status_name(first),
                     e->name);
}
