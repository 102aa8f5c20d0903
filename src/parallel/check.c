#include "parallel/check.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "collective/ranks.h"
#include "tensor/overlap.h"

int sbn__parallel_check_group(sbn_group *group)
{
    sbn_communicator *c = &group->communicator;
    if (!c->alone)
        return c->dead ? sbn__communicator_check(c, "the group") : SBN_SUCCESS;
    return sbn__fail(SBN_GROUP_FAILED,
                     "rank %d: after a timeout the group goes on with this rank's statistics "
                     "alone: there is nobody to exchange tensors with",
                     c->transport.rank);
}

/* --- of this rank's tensors --------------------------------------------------------------- */

/* None of the tensors that are written may overlap another one, of any replica here. */
static int check_apart(const sbn_exchange *e, const char *who)
{
    sbn_data_parallel *parallel = e->parallel;
    const size_t most = parallel->replica_count * e->tensors;
    const sbn_claim *first, *second;
    if (most < 2)
        return SBN_SUCCESS;
    const int status = sbn__claims_start(&parallel->claims, most);
    for (size_t r = 0; r < parallel->replica_count && !status; ++r) {
        const sbn_tensors its = sbn__tensors_at(e, r);
        for (size_t t = 0; t < e->tensors; ++t) {
            const sbn_claim whose = {.branch = t, .replica = r};
            const int written = e->averages || parallel->first + r != e->root;
            const sbn_use use = sbn__use_floats("", &its.buffers[t], e->counts[t], written, 0);
            sbn__claims_add(&parallel->claims, &whose, &use, e->counts[t] > 0);
        }
    }
    if (status || !sbn__claims_find(&parallel->claims, &first, &second))
        return status;
    char replica[40] = "";
    if (first->replica != second->replica)
        snprintf(replica, sizeof replica, " of replica %zu", first->replica);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: replica %zu: tensor %zu must not overlap tensor %zu%s in the same call",
                     who, second->replica, second->branch, first->branch, replica);
}

int sbn__tensors_check(const sbn_exchange *e)
{
    const char *who = e->averages ? "sbn_average_gradients" : "sbn_broadcast";
    if (e->tensors > 0 && !e->counts)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: counts: expected %zu sizes, got NULL", who,
                         e->tensors);
    if (!e->averages && e->root >= e->parallel->total)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: root: expected a replica below %zu, got %zu",
                         who, e->parallel->total, e->root);
    if (!e->replicas)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: replicas: expected tensors of %zu replicas, got NULL", who,
                         e->parallel->replica_count);
    char array[64];
    snprintf(array, sizeof array, "%s: replicas", who);
    int status = sbn__struct_check(e->replicas, e->parallel->replica_count, SBN_STRUCT(sbn_tensors),
                                   array);
    for (size_t r = 0; r < e->parallel->replica_count && !status; ++r) {
        const sbn_tensors its = sbn__tensors_at(e, r);
        if (e->tensors > 0 && !its.buffers)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: expected %zu buffers, got NULL", who, r, e->tensors);
        if (its.num_wait > 0 && !its.wait_list)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: wait_list: expected %u events, got NULL", who, r,
                             (unsigned)its.num_wait);
        for (size_t t = 0; t < e->tensors && !status; ++t) {
            char name[96];
            snprintf(name, sizeof name, "replica %zu: tensor %zu", r, t);
            if (e->counts[t] > 0)
                status = sbn__check_buffer(&its.buffers[t], e->counts[t], &e->parallel->replicas[r],
                                           who, name);
        }
    }
    return status ? status : check_apart(e, who);
}

/* --- of what all ranks began -------------------------------------------------------------- */

/* A rank's slot. */
enum { ERROR, AVERAGES, TENSORS, FLOATS, DIGEST, SLOT };

size_t sbn__exchange_header_words(const sbn_data_parallel *parallel)
{
    return SLOT * (size_t)parallel->communicator.transport.world_size;
}

void sbn__exchange_header_fill(sbn_exchange *e)
{
    int64_t *words = e->header.words;
    memset(words, 0, sizeof *words * sbn__exchange_header_words(e->parallel));
    int64_t *slot = words + SLOT * e->parallel->communicator.transport.rank;
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

void sbn__exchange_describe(int averages, uint64_t tensors, uint64_t floats, char *out, size_t size)
{
    snprintf(out, size, "%s of %llu tensor%s, %llu float%s", averages ? "averaging" : "broadcast",
             (unsigned long long)tensors, tensors == 1 ? "" : "s", (unsigned long long)floats,
             floats == 1 ? "" : "s");
}

/* If there are errors, only those are reported. */
static void write_sentence(const sbn_exchange *e, const int64_t *words, int errors, char *out,
                           size_t size)
{
    sbn_rank_sets *sets = sbn__allocate(sizeof *sets);
    const char *between = ": ";
    snprintf(out, size, "%s",
             errors ? "a rank cannot take part" : "the ranks began different exchanges");
    if (!sets)
        return;
    sets->world_size = e->parallel->communicator.transport.world_size;
    sbn__rank_sets_part(sets, words, SLOT, SLOT, NULL, 0);
    for (int set = -1; (set = sbn__rank_sets_next(sets, set)) >= 0;) {
        const int64_t *slot = slot_of(words, set);
        char names[SBN_RANKS_SIZE], call[64];
        if (errors && !slot[ERROR])
            continue;
        sbn__text_add(out, size, "%s", between);
        sbn__communicator_name_ranks(&e->parallel->communicator, sbn__rank_sets_list(sets, set),
                                     sets->size[set], names, sizeof names);
        sbn__exchange_describe(slot[AVERAGES] != 0, (uint64_t)slot[TENSORS], (uint64_t)slot[FLOATS],
                               call, sizeof call);
        if (slot[ERROR])
            sbn__text_add(out, size, "%s began %s and reported %s", names,
                          slot[AVERAGES] ? "averaging" : "broadcast",
                          sbn_status_name((int)slot[ERROR]));
        else
            sbn__text_add(out, size, "%s began %s (root, sizes, bucket_bytes: digest %016llx)",
                          names, call, (unsigned long long)slot[DIGEST]);
        between = "; ";
    }
    sbn__free(sets);
}

int sbn__exchange_header_read(const sbn_exchange *e)
{
    const int64_t *words = e->header.words;
    const int world_size = e->parallel->communicator.transport.world_size;
    int errors = 0, differ = 0;
    for (int rank = 0; rank < world_size; ++rank) {
        errors += slot_of(words, rank)[ERROR] != 0;
        differ += memcmp(slot_of(words, rank), words, sizeof *words * SLOT) != 0;
    }
    if (e->error)
        return sbn__fail(e->error, "%s", e->sentence);
    if (!errors && !differ)
        return SBN_SUCCESS;
    char sentence[SBN_SENTENCE_SIZE];
    write_sentence(e, words, errors, sentence, sizeof sentence);
    return sbn__fail(errors ? SBN_REMOTE_ERROR : SBN_DISAGREEMENT, "%s", sentence);
}

/* --- of all ranks' statuses ---------------------------------------------------------------- */

enum { PER_WORD = 4, STATUS_BITS = 16 };

size_t sbn__status_words(const sbn_data_parallel *parallel)
{
    return ((size_t)parallel->communicator.transport.world_size + PER_WORD - 1) / PER_WORD;
}

void sbn__status_fill(const sbn_data_parallel *parallel, int status, int64_t *words)
{
    const int rank = parallel->communicator.transport.rank;
    words[rank / PER_WORD] = (int64_t)((uint64_t)-status << rank % PER_WORD * STATUS_BITS);
}

static int status_of(const int64_t *words, int rank)
{
    return -(int)((uint64_t)words[rank / PER_WORD] >> rank % PER_WORD * STATUS_BITS & 0xffffu);
}

int sbn__status_read(const sbn_exchange *e, const int64_t *words)
{
    const int world_size = e->parallel->communicator.transport.world_size;
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
        sbn__communicator_name_ranks(&e->parallel->communicator, ranks, count, names, sizeof names);
    sbn__free(ranks);
    return sbn__fail(SBN_REMOTE_ERROR, "%s reported %s in %s", names, sbn_status_name(first),
                     e->name);
}
