/*
 * The in-memory transport. Each tag has a ring of meetings; the n-th start of a rank joins the n-th meeting, adds its
 * words, and a meeting is over when every rank has taken the sum. Ranks may run ahead of each other by the ring's
 * length.
 */
#include <pthread.h>
#include <string.h>

#include <syncbn/transport.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/versioned_struct.h"

/* A rank has at most one request per pass and tag; this is more than SBN_MAX_PASSES. */
#define RING 128

/* Memory for a sum, reused by later meetings, so that few blocks are ever allocated. */
typedef struct block {
    int64_t *words;
    size_t capacity;
} block;

typedef struct meeting {
    block sum;
    size_t count;
    uint64_t number; /* how many came before it; a rank that has started more is in it */
    int arrived, taken;
} meeting;

typedef struct request {
    meeting *meeting;
    int64_t *words;
    int tag;
} request;

typedef struct hub_rank {
    struct sbn_hub *hub;
    int rank;
    uint64_t started[SBN_TAGS];       /* changed with the hub's mutex held: other ranks read it */
    request requests[SBN_TAGS][RING]; /* here, so that a pass allocates nothing */
    int came;                         /* to a subgroup: it has its table */
} hub_rank;

struct sbn_hub {
    pthread_mutex_t mutex;
    int world_size;
    hub_rank *ranks;
    meeting ring[SBN_TAGS][RING];
    block spare[SBN_TAGS][RING];
    int spares[SBN_TAGS];

    sbn_hub *subgroups, *next; /* split from this one; the next in its parent's list */
    sbn_hub *parent;           /* what this one is a part of */
    int number, ended;         /* of this subgroup; how many ranks have ended it */
};

void sbn_hub_destroy(sbn_hub *hub)
{
    if (!hub)
        return;
    pthread_mutex_destroy(&hub->mutex);
    while (hub->subgroups) {
        sbn_hub *subgroup = hub->subgroups;
        hub->subgroups = subgroup->next;
        sbn_hub_destroy(subgroup);
    }
    for (int s = 0; s < SBN_TAGS; ++s) {
        for (int i = 0; i < RING; ++i)
            sbn__free(hub->ring[s][i].sum.words);
        for (int i = 0; i < hub->spares[s]; ++i)
            sbn__free(hub->spare[s][i].words);
    }
    sbn__free(hub->ranks);
    sbn__free(hub);
}

int sbn_hub_create(int world_size, sbn_hub **hub)
{
    sbn__error_clear();
    if (!hub)
        return sbn__fail(SBN_INVALID_ARGUMENT, "hub: expected a place for the handle, got NULL");
    *hub = NULL;
    if (world_size < 1 || world_size > SBN_MAX_WORLD_SIZE)
        return sbn__fail(SBN_INVALID_ARGUMENT, "world_size: expected 1 to %d, got %d",
                         SBN_MAX_WORLD_SIZE, world_size);
    sbn_hub *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("a hub");
    made->world_size = world_size;
    made->mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    made->ranks = sbn__allocate(sizeof(hub_rank) * (size_t)world_size);
    if (!made->ranks) {
        sbn_hub_destroy(made);
        return sbn__fail_memory("a hub");
    }
    for (int r = 0; r < world_size; ++r)
        made->ranks[r] = (hub_rank){.hub = made, .rank = r};
    *hub = made;
    return SBN_SUCCESS;
}

/* Zeroed words for a meeting's sum, with the mutex held. */
static int open_sum(sbn_hub *hub, int tag, meeting *m, size_t count)
{
    block *sum = &m->sum;
    if (!sum->words && hub->spares[tag] > 0)
        *sum = hub->spare[tag][--hub->spares[tag]];
    if (sum->capacity < count) {
        sbn__free(sum->words);
        sum->words = sbn__allocate(sizeof(int64_t) * count);
        sum->capacity = sum->words ? count : 0;
    }
    if (sum->capacity < count)
        return sbn__fail_memory("a sum over the ranks");
    memset(sum->words, 0, sizeof(int64_t) * count);
    m->count = count;
    return SBN_SUCCESS;
}

/* Joins a meeting, with the mutex held. */
static int join(hub_rank *self, int tag, meeting *m, const int64_t *words, size_t count)
{
    if (m->arrived == 0) {
        const int status = open_sum(self->hub, tag, m, count);
        if (status != SBN_SUCCESS)
            return status;
        m->number = self->started[tag];
    }
    /* The ring is full, or the ranks' counts differ. */
    if (m->number != self->started[tag] || m->count != count)
        return SBN_TRANSPORT_ERROR;
    for (size_t i = 0; i < count; ++i)
        m->sum.words[i] = (int64_t)((uint64_t)m->sum.words[i] + (uint64_t)words[i]);
    ++self->started[tag];
    ++m->arrived;
    return SBN_SUCCESS;
}

static int start(void *context, int tag, int64_t *words, size_t count, void **handle)
{
    hub_rank *self = context;
    sbn_hub *hub = self->hub;
    const size_t place = self->started[tag] % RING;
    meeting *m = &hub->ring[tag][place];
    pthread_mutex_lock(&hub->mutex);
    const int status = join(self, tag, m, words, count);
    pthread_mutex_unlock(&hub->mutex);
    if (status != SBN_SUCCESS)
        return status;
    self->requests[tag][place] = (request){m, words, tag};
    *handle = &self->requests[tag][place];
    return SBN_SUCCESS;
}

/* All ranks have the sum: the meeting and its memory can be used again. */
static void end_meeting(sbn_hub *hub, int tag, meeting *m)
{
    m->arrived = m->taken = 0;
    hub->spare[tag][hub->spares[tag]++] = m->sum;
    m->sum = (block){NULL, 0};
}

static int test(void *context, void *handle, int *done)
{
    sbn_hub *hub = ((hub_rank *)context)->hub;
    const request *pending = handle;
    meeting *m = pending->meeting;
    pthread_mutex_lock(&hub->mutex);
    *done = m->arrived == hub->world_size;
    if (*done) {
        memcpy(pending->words, m->sum.words, sizeof(int64_t) * m->count);
        if (++m->taken == hub->world_size)
            end_meeting(hub, pending->tag, m);
    }
    pthread_mutex_unlock(&hub->mutex);
    return SBN_SUCCESS;
}

static int missing(void *context, void *handle, int *ranks)
{
    sbn_hub *hub = ((hub_rank *)context)->hub;
    const request *pending = handle;
    int count = 0;
    pthread_mutex_lock(&hub->mutex);
    for (int r = 0; r < hub->world_size; ++r)
        if (hub->ranks[r].started[pending->tag] <= pending->meeting->number)
            ranks[count++] = r;
    pthread_mutex_unlock(&hub->mutex);
    return count;
}

static void fill_table(sbn_hub *hub, int rank, sbn_transport *transport);

/* The first rank to come makes the subgroup, the others find it. Another group's has the same numbers. */
static int split(void *context, const int *ranks, int count, int number, sbn_transport *table)
{
    const hub_rank *self = context;
    sbn_hub *hub = self->hub, *subgroup;
    int rank = 0, status = SBN_SUCCESS;
    while (ranks[rank] != self->rank)
        ++rank;
    pthread_mutex_lock(&hub->mutex);
    for (subgroup = hub->subgroups; subgroup; subgroup = subgroup->next)
        if (subgroup->number == number && subgroup->world_size == count &&
            !subgroup->ranks[rank].came)
            break;
    if (!subgroup) {
        status = sbn_hub_create(count, &subgroup);
        if (status == SBN_SUCCESS) {
            subgroup->parent = hub;
            subgroup->number = number;
            subgroup->next = hub->subgroups;
            hub->subgroups = subgroup;
        }
    }
    if (status == SBN_SUCCESS) {
        subgroup->ranks[rank].came = 1;
        fill_table(subgroup, rank, table);
    }
    pthread_mutex_unlock(&hub->mutex);
    return status;
}

/* The last rank to end a subgroup frees it. */
static void end(void *context)
{
    sbn_hub *subgroup = ((hub_rank *)context)->hub, *parent = subgroup->parent;
    pthread_mutex_lock(&parent->mutex);
    const int last = ++subgroup->ended == subgroup->world_size;
    if (last) {
        sbn_hub **at = &parent->subgroups;
        while (*at != subgroup)
            at = &(*at)->next;
        *at = subgroup->next;
    }
    pthread_mutex_unlock(&parent->mutex);
    if (last)
        sbn_hub_destroy(subgroup);
}

static void fill_table(sbn_hub *hub, int rank, sbn_transport *transport)
{
    const sbn_transport table = {
        .size = sizeof table,
        .context = &hub->ranks[rank],
        .rank = rank,
        .world_size = hub->world_size,
        .start = start,
        .test = test,
        .missing = missing,
        .split = split,
        .end = end,
    };
    sbn__struct_put(transport, 0, &table, sizeof table);
}

int sbn_hub_transport(sbn_hub *hub, int rank, sbn_transport *transport)
{
    sbn__error_clear();
    if (!hub || !transport)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected a pointer, got NULL",
                         hub ? "transport" : "hub");
    if (rank < 0 || rank >= hub->world_size)
        return sbn__fail(SBN_INVALID_ARGUMENT, "rank: expected 0 to %d, got %d",
                         hub->world_size - 1, rank);
    const int status = sbn__struct_check_room(transport, 1, SBN_STRUCT(sbn_transport), "transport");
    if (!status)
        fill_table(hub, rank, transport);
    return status;
}
