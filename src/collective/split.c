#include "collective/split.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <syncbn/group.h>

#include "base/digest.h"
#include "base/memory.h"
#include "collective/mismatch.h"
#include "collective/request.h"

typedef struct splitting {
    sbn_communicator *parent;
    const char *operation;
    sbn_subset *subsets;
    size_t count;
    int keep_names;
    sbn_request request;
    int64_t *counts; /* per rank: its colours */
    size_t pairs;    /* of ranks and colours, over all ranks */
    int *owners, *colours;
    int *ranks; /* of one subset */
} splitting;

/* Adds `count` words over the ranks. */
static int add(splitting *s, int tag, size_t count)
{
    const int status = sbn__request_start(s->parent, &s->request, tag, count);
    return status ? status : sbn__request_wait(s->parent, &s->request, s->operation);
}

/* Makes room for `count` zeroed words. Without it this rank cannot tell the others. */
static int reserve(splitting *s, size_t count)
{
    if (sbn__request_reserve(&s->request, count, "a split"))
        return sbn__communicator_die_of_memory(s->parent, s->operation);
    memset(s->request.words, 0, sizeof(int64_t) * count);
    return SBN_SUCCESS;
}

/* Exchanges slots and writes the sentence of a disagreement. */
static int explain(splitting *s, const sbn_call *call)
{
    const int rank = s->parent->transport.rank;
    const int world_size = s->parent->transport.world_size;
    const size_t count = sbn__mismatch_words(world_size);
    int status = reserve(s, count);
    if (!status) {
        sbn__mismatch_fill(s->request.words, rank, call);
        status = add(s, SBN_TAG_REPEAT, count);
    }
    if (status)
        return status;
    status = sbn__mismatch_read(s->request.words, 0, rank, world_size);
    if (sbn__mismatch_gives_up(s->request.words, world_size))
        sbn__communicator_part(s->parent, SBN_REMOTE_ERROR);
    return status;
}

/* Exchanges a header: all ranks succeed, or all get an error. */
static int agree(splitting *s, sbn_call *call)
{
    call->number = s->parent->calls++;
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    const size_t words = SBN_HEADER_WORDS + s->parent->forecast.words;
    int status = reserve(s, words);
    if (!status) {
        sbn__header_fill(s->request.words, call->error, 0, call->number, 0,
                         sbn__call_digest(SBN_DIGEST_START, call));
        status = add(s, SBN_TAG_HEADER, words);
    }
    if (!status && !sbn__header_agrees(s->parent, s->request.words, 0))
        status = explain(s, call);
    return status && call->error ? sbn__fail(call->error, "%s", sentence) : status;
}

/* Words that no rank can have sent: what is addressed by them is not touched. */
static int impossible(splitting *s, int rank)
{
    return sbn__communicator_die(
        s->parent, sbn__fail(SBN_TRANSPORT_ERROR,
                             "rank %d: the transport's sums in %s give rank %d impossible colours",
                             s->parent->transport.rank, s->operation, rank));
}

/* How many colours each rank has. */
static int exchange_counts(splitting *s)
{
    const int world_size = s->parent->transport.world_size;
    int status = reserve(s, (size_t)world_size);
    s->counts = sbn__allocate(sizeof *s->counts * (size_t)world_size);
    if (!status && !s->counts)
        status = sbn__communicator_die_of_memory(s->parent, s->operation);
    if (status)
        return status;
    s->request.words[s->parent->transport.rank] = (int64_t)s->count;
    status = add(s, SBN_TAG_WORDS, (size_t)world_size);
    for (int rank = 0; rank < world_size && !status; ++rank) {
        const int64_t word = s->request.words[rank];
        const int own = rank == s->parent->transport.rank;
        if (word < 0 || word > SBN_MAX_REPLICAS || (own && word != (int64_t)s->count))
            status = impossible(s, rank);
        s->counts[rank] = word;
        s->pairs += (size_t)word;
    }
    return status;
}

/* Colours ascend within each rank, and this rank's are its own. */
static int read_colours(splitting *s)
{
    size_t own = 0;
    for (size_t at = 0; at < s->pairs; ++at) {
        const int64_t word = s->request.words[at];
        const int again = at > 0 && s->owners[at] == s->owners[at - 1];
        if (word < 0 || word > INT_MAX || (again && word <= s->colours[at - 1]))
            return impossible(s, s->owners[at]);
        if (s->owners[at] == s->parent->transport.rank && word != s->subsets[own++].colour)
            return impossible(s, s->owners[at]);
        s->colours[at] = (int)word;
    }
    return SBN_SUCCESS;
}

/* All ranks' colours: pairs of a rank and one of its colours, by rank. */
static int exchange_colours(splitting *s)
{
    if (s->pairs == 0)
        return SBN_SUCCESS;
    int status = reserve(s, s->pairs);
    s->owners = sbn__allocate(sizeof *s->owners * s->pairs);
    s->colours = sbn__allocate(sizeof *s->colours * s->pairs);
    /* A rank has a colour once. */
    s->ranks = sbn__allocate(sizeof *s->ranks * (size_t)s->parent->transport.world_size);
    if (!status && (!s->owners || !s->colours || !s->ranks))
        status = sbn__communicator_die_of_memory(s->parent, s->operation);
    if (status)
        return status;
    for (size_t rank = 0, at = 0; at < s->pairs; ++rank)
        for (int64_t i = 0; i < s->counts[rank]; ++i, ++at) {
            s->owners[at] = (int)rank;
            if ((int)rank == s->parent->transport.rank)
                s->request.words[at] = s->subsets[i].colour;
        }
    status = add(s, SBN_TAG_WORDS, s->pairs);
    return status ? status : read_colours(s);
}

/* Joins a subset to the other ranks that have its colour. */
static int connect(splitting *s, sbn_subset *subset, int number)
{
    const sbn_transport *transport = &s->parent->transport;
    sbn_transport part = {.size = sizeof part, .world_size = 1};
    int count = 0, code = 0;
    for (size_t i = 0; i < s->pairs; ++i)
        if (s->colours[i] == subset->colour)
            s->ranks[count++] = s->owners[i];
    if (count > 1)
        code = transport->split(transport->context, s->ranks, count, number, &part);
    if (code)
        return sbn__communicator_die_of_transport(s->parent, code, "split");
    subset->communicator.transport = part;
    if (s->keep_names) {
        subset->communicator.names = s->ranks;
        s->ranks = NULL;
    }
    return SBN_SUCCESS;
}

int sbn__next_colour(const int *colours, size_t count, int last)
{
    int next = SBN_NO_COLOUR;
    for (size_t i = 0; i < count; ++i)
        if (colours[i] > last && (next < 0 || colours[i] < next))
            next = colours[i];
    return next;
}

/*
 * In the order of colours, so that ranks with several subsets do not wait for each other in a cycle. If one gets no
 * memory, its ranks have all been told so, but those of the next colours wait in the transport for this one.
 */
static int connect_all(splitting *s)
{
    int status = SBN_SUCCESS, code = 0, colour = SBN_NO_COLOUR;
    size_t own = 0;
    while ((colour = sbn__next_colour(s->colours, s->pairs, colour)) >= 0) {
        const int number = s->parent->subsets++;
        if (own < s->count && s->subsets[own].colour == colour &&
            (!code || code == SBN_OUT_OF_MEMORY)) {
            code = connect(s, &s->subsets[own++], number);
            status = status ? status : code;
        }
    }
    return status ? sbn__fail(status, "%s", s->parent->reason) : SBN_SUCCESS;
}

static int split(splitting *s, sbn_call *call)
{
    int status = agree(s, call);
    if (!status)
        status = exchange_counts(s);
    if (!status)
        status = exchange_colours(s);
    if (!status)
        status = connect_all(s);
    /* A dead communicator cannot tell the others; they will time out. */
    return status ? status : agree(s, call);
}

int sbn__communicator_check_splits(const sbn_communicator *c)
{
    if (sbn__communicator_is_joined(c) && !c->transport.split)
        return sbn__fail(SBN_INVALID_ARGUMENT, "group: its transport cannot be split");
    return SBN_SUCCESS;
}

int sbn__communicator_split(sbn_communicator *parent, sbn_call *call, sbn_subset *subsets,
                            size_t count, int keep_names)
{
    splitting s = {.parent = parent,
                   .operation = call->operation,
                   .subsets = subsets,
                   .count = count,
                   .keep_names = keep_names};
    for (size_t i = 0; i < count; ++i) {
        sbn__communicator_open(&subsets[i].communicator, NULL, parent->timeout, parent->on_timeout);
        subsets[i].communicator.alone = parent->alone;
    }
    if (!sbn__communicator_is_joined(parent))
        return call->error;
    const int status = split(&s, call);
    for (size_t i = 0; i < count && status; ++i)
        sbn__communicator_close(&subsets[i].communicator);
    sbn__request_free(&s.request);
    sbn__free(s.counts);
    sbn__free(s.owners);
    sbn__free(s.colours);
    sbn__free(s.ranks);
    return status;
}
