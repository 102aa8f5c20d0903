/*
 * Splitting a group by colour. Four sums over the ranks: a header, as of a
 * pass, in which anyone who cannot take part says so; how many colours each
 * rank has; which ones; and a last header, so that either all ranks have
 * their subgroups or none. Between the last two the transport makes a subgroup for
 * each colour.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pass/combine.h"
#include "base/digest.h"
#include "collective/mismatch.h"
#include "base/memory.h"

/* One colour of this rank. */
typedef struct subgroup {
    int colour;
    sbn_group *group;
} subgroup;

typedef struct splitting {
    sbn_group *group;
    size_t count;        /* distinct colours of this rank */
    subgroup *subgroups; /* ascending */
    size_t pairs;        /* of ranks and colours, over all ranks */
    int *members, *colours;
    int *sorted, *ranks; /* room for as many */
} splitting;

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Adds *words over the ranks and waits. What a timeout leaves in flight is no longer ours. */
static int add(sbn_group *group, int stream, int64_t **words, size_t count)
{
    const sbn_transport *transport = &group->transport;
    const double since = seconds();
    void *request = NULL;
    int done = 0;
    sbn__error_clear();
    int code = transport->start(transport->context, stream, *words, count, &request);
    if (code) {
        sbn__group_fail_transport(group, code, "start");
        return SBN_TRANSPORT_ERROR;
    }
    while (!done) {
        code = transport->test(transport->context, request, &done);
        if (code || (!done && seconds() - since > group->timeout))
            break;
        sched_yield();
    }
    if (done)
        return SBN_SUCCESS;
    *words = NULL;
    if (code) {
        sbn__group_fail_transport(group, code, "test");
        return SBN_TRANSPORT_ERROR;
    }
    char missing[128];
    sbn__name_missing(transport, request, missing, sizeof missing);
    group->unreachable = 1;
    return sbn__group_fail(group,
                           sbn__fail(SBN_TIMEOUT, "rank %d waited %g s in sbn_group_split for %s",
                                     transport->rank, group->timeout, missing));
}

/* Nobody waits without a deadline yet: the others will name this rank. */
static int fail_memory(sbn_group *group)
{
    sbn__group_fail_transport(group, SBN_OUT_OF_MEMORY, "memory");
    return SBN_TRANSPORT_ERROR;
}

/* Who did what: the sentence of a disagreement. */
static int explain(sbn_group *group, const sbn_call *call)
{
    const sbn_transport *transport = &group->transport;
    const size_t count = sbn__mismatch_words(transport->world_size);
    char sentence[SBN_SENTENCE_SIZE];
    int64_t *words = sbn__allocate(sizeof *words * count);
    if (!words)
        return fail_memory(group);
    sbn__mismatch_fill(words, transport->rank, call);
    int status = add(group, SBN_TAG_REPEAT, &words, count);
    if (!status) {
        status = sbn__mismatch_read(words, 0, transport->rank, transport->world_size, sentence,
                                    sizeof sentence);
        sbn__fail(status, "%s", sentence);
    }
    sbn__free(words);
    return status;
}

/* All ranks are here and none has an error, or all get to know. The own error keeps its
 * sentence. */
static int agree(sbn_group *group, int error)
{
    char sentence[SBN_SENTENCE_SIZE];
    const sbn_call call = {.operation = "sbn_group_split",
                           .name = "",
                           .number = group->sequence++,
                           .code = SBN_CODE_SPLIT,
                           .error = error};
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    int64_t *header = sbn__allocate(sizeof *header * SBN_HEADER_WORDS);
    if (!header)
        return fail_memory(group);
    sbn__header_fill(header, error, call.number, 0, sbn__call_digest(SBN_DIGEST_START, &call));
    int status = add(group, SBN_TAG_HEADER, &header, SBN_HEADER_WORDS);
    if (!status && !sbn__header_agrees(header, group->transport.world_size))
        status = explain(group, &call);
    sbn__free(header);
    return status == error && error ? sbn__fail(error, "%s", sentence) : status;
}

static int ascending(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* Sorts and drops what is there twice; returns how many are left. */
static size_t distinct(int *colours, size_t count)
{
    size_t kept = 0;
    qsort(colours, count, sizeof *colours, ascending);
    for (size_t i = 0; i < count; ++i)
        if (kept == 0 || colours[kept - 1] != colours[i])
            colours[kept++] = colours[i];
    return kept;
}

static int check_split(const sbn_group *group, const int *colours, sbn_group **subgroups)
{
    if (group->failed)
        return sbn__fail(SBN_GROUP_FAILED, "rank %d: the group failed earlier: %s",
                         sbn_group_rank(group), group->reason);
    if (group->under_way_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: no pass under way was expected, %zu have not ended",
                         group->under_way_count);
    if (group->replica_count > 0 && (!colours || !subgroups))
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: one for each replica was expected, NULL came",
                         colours ? "parts" : "colours");
    for (size_t r = 0; r < group->replica_count; ++r)
        if (colours[r] < SBN_NO_COLOUR)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "colours: from 0 on or SBN_NO_COLOUR was expected, replica %zu has %d",
                             r, colours[r]);
    if (sbn__group_is_joined(group) && !group->transport.split)
        return sbn__fail(SBN_INVALID_ARGUMENT, "group: its transport cannot be split");
    return SBN_SUCCESS;
}

/* This rank's colours, each with a group of its replicas, which has no transport yet. */
static int make_parts(splitting *s, const int *colours)
{
    const sbn_group *group = s->group;
    const size_t replicas = group->replica_count;
    cl_command_queue *queues = sbn__allocate(sizeof *queues * replicas);
    int *own = sbn__allocate(sizeof *own * replicas), status = SBN_SUCCESS;
    size_t count = 0;
    s->subgroups = sbn__allocate(sizeof *s->subgroups * replicas);
    if (!queues || !own || !s->subgroups)
        status = sbn__fail_memory("the parts of a group");
    for (size_t r = 0; r < replicas && !status; ++r)
        if (colours[r] != SBN_NO_COLOUR)
            own[count++] = colours[r];
    if (!status)
        count = distinct(own, count);
    for (size_t i = 0; i < count && !status; ++i) {
        sbn_group_config config = SBN_GROUP_CONFIG_INIT;
        config.queues = queues;
        for (size_t r = 0; r < replicas; ++r)
            if (colours[r] == own[i])
                queues[config.replicas++] = group->replicas[r].queue;
        config.timeout = group->timeout;
        config.on_timeout = group->on_timeout;
        config.form = group->form;
        config.build_options = group->build_options;
        s->subgroups[i].colour = own[i];
        status = sbn__group_make(&config, &s->subgroups[i].group);
        s->count += !status;
    }
    sbn__free(queues);
    sbn__free(own);
    return status;
}

/* How many colours each rank has. */
static int exchange_counts(splitting *s, int64_t **counts)
{
    sbn_group *group = s->group;
    const size_t world_size = (size_t)group->transport.world_size;
    (*counts)[group->transport.rank] = (int64_t)s->count;
    const int status = add(group, SBN_TAG_WORDS, counts, world_size);
    for (size_t rank = 0; rank < world_size && !status; ++rank)
        s->pairs += (size_t)(*counts)[rank];
    return status;
}

/* Everybody's colours: pairs of a rank and one of its colours, by rank. */
static int exchange_colours(splitting *s, const int64_t *counts, int64_t **words)
{
    sbn_group *group = s->group;
    for (size_t rank = 0, at = 0; at < s->pairs; ++rank)
        for (int64_t i = 0; i < counts[rank]; ++i, ++at) {
            s->members[at] = (int)rank;
            if ((int)rank == group->transport.rank)
                (*words)[at] = s->subgroups[i].colour;
        }
    const int status = s->pairs > 0 ? add(group, SBN_TAG_WORDS, words, s->pairs) : SBN_SUCCESS;
    for (size_t at = 0; at < s->pairs && !status; ++at)
        s->colours[at] = (int)(*words)[at];
    return status;
}

static int exchange(splitting *s)
{
    int64_t *counts = sbn__allocate(sizeof *counts * (size_t)s->group->transport.world_size);
    int64_t *words = NULL;
    int status = counts ? exchange_counts(s, &counts) : fail_memory(s->group);
    if (!status) {
        words = sbn__allocate(sizeof *words * s->pairs);
        s->members = sbn__allocate(sizeof *s->members * s->pairs);
        s->colours = sbn__allocate(sizeof *s->colours * s->pairs);
        s->sorted = sbn__allocate(sizeof *s->sorted * s->pairs);
        s->ranks = sbn__allocate(sizeof *s->ranks * s->pairs);
        status = words && s->members && s->colours && s->sorted && s->ranks
                     ? exchange_colours(s, counts, &words)
                     : fail_memory(s->group);
    }
    sbn__free(counts);
    sbn__free(words);
    return status;
}

/* Joins the part of one colour to the other ranks that have it. */
static int connect_part(splitting *s, const subgroup *mine, int number)
{
    const sbn_transport *transport = &s->group->transport;
    int count = 0;
    for (size_t i = 0; i < s->pairs; ++i)
        if (s->colours[i] == mine->colour)
            s->ranks[count++] = s->members[i];
    if (count == 1)
        return SBN_SUCCESS;
    sbn__error_clear();
    sbn_group *made = mine->group;
    const int code = transport->split(transport->context, s->ranks, count, number,
                                      &made->transport);
    if (code) {
        sbn__group_fail_transport(s->group, code, "split");
        return SBN_TRANSPORT_ERROR;
    }
    made->joined = made->is_subgroup = 1;
    return SBN_SUCCESS;
}

/* In the order of colours, so that ranks of several subgroups do not wait for each other in a ring. */
static int connect_parts(splitting *s)
{
    int status = SBN_SUCCESS;
    memcpy(s->sorted, s->colours, sizeof *s->colours * s->pairs);
    const size_t count = distinct(s->sorted, s->pairs);
    for (size_t i = 0, own = 0; i < count && own < s->count && !status; ++i)
        if (s->subgroups[own].colour == s->sorted[i])
            status = connect_part(s, &s->subgroups[own++], s->group->subgroups + (int)i);
    s->group->subgroups += (int)count;
    return status;
}

static int split(splitting *s, const int *colours, int status)
{
    sbn_group *group = s->group;
    if (!status)
        status = make_parts(s, colours);
    if (!sbn__group_is_joined(group))
        return status;
    status = agree(group, status);
    if (!status)
        status = exchange(s);
    if (!status)
        status = connect_parts(s);
    /* A dead group cannot tell; the others find that out by their timeout. */
    return status ? status : agree(group, SBN_SUCCESS);
}

int sbn_group_split(sbn_group *group, const int *colours, sbn_group **subgroups)
{
    sbn__error_clear();
    int status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    if (status)
        return status;
    splitting s = {.group = group};
    for (size_t r = 0; subgroups && r < group->replica_count; ++r)
        subgroups[r] = NULL;
    status = check_split(group, colours, subgroups);
    if (!status || (sbn__group_is_joined(group) && !group->unreachable && !group->under_way_count))
        status = split(&s, colours, status);
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    for (size_t i = 0; i < s.count; ++i) {
        if (status)
            sbn__group_free(s.subgroups[i].group);
        for (size_t r = 0; !status && r < group->replica_count; ++r)
            if (colours[r] == s.subgroups[i].colour)
                subgroups[r] = s.subgroups[i].group;
    }
    sbn__free(s.subgroups);
    sbn__free(s.members);
    sbn__free(s.colours);
    sbn__free(s.sorted);
    sbn__free(s.ranks);
    return status ? sbn__fail(status, "%s", sentence) : SBN_SUCCESS;
}
