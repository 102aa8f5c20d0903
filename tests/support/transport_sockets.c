/*
 * Ranks meet over sockets that carry whole packets: a transport such as a program could bring, written
 * from transport.h alone. Each rank has a socket to each other one, sends all of them its words and adds
 * what they send. Packets come when the library calls, without blocking; there are no threads. A socket
 * must hold what a rank sends before others read it: the few reductions that may be under way.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/ranks.h"

enum { MOST = 8192 };

/* What a rank sends: words of the reduction of this number among those of its tag. */
typedef struct packet {
    int64_t tag, number, words[MOST];
} packet;

/* A reduction under way, which the first words that come begin, of whatever rank. */
typedef struct sum {
    int64_t tag, number;
    size_t count;
    int64_t *own; /* the library's words, once start has been called here */
    int arrived;
    struct sum *next;
    int64_t words[]; /* what has come so far */
} sum;

typedef struct end {
    int rank, world_size;
    int64_t started[SBN_TAGS];
    int fds[RANKS_MAX]; /* to each other rank */
    sum *sums;
} end;

struct transports {
    int count;
    end ends[RANKS_MAX];
};

static void *allocate(size_t size)
{
    void *block = calloc(1, size);
    must(block ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    return block;
}

static sum *find(end *e, int64_t tag, int64_t number, size_t count)
{
    for (sum *s = e->sums; s; s = s->next)
        if (s->tag == tag && s->number == number)
            return s;
    sum *s = allocate(sizeof *s + sizeof *s->words * count);
    *s = (sum){.tag = tag, .number = number, .count = count, .next = e->sums};
    return e->sums = s;
}

static int add(sum *s, const int64_t *words, size_t count)
{
    if (s->count != count)
        return sbn_set_last_error(SBN_TRANSPORT_ERROR, "the ranks' counts differ");
    for (size_t i = 0; i < count; ++i)
        s->words[i] = (int64_t)((uint64_t)s->words[i] + (uint64_t)words[i]);
    ++s->arrived;
    return 0;
}

/* Takes what has come. */
static int pump(end *e)
{
    for (int rank = 0; rank < e->world_size; ++rank) {
        packet p;
        ssize_t came;
        if (rank == e->rank)
            continue;
        while ((came = recv(e->fds[rank], &p, sizeof p, MSG_DONTWAIT)) > 0) {
            const size_t count = ((size_t)came - offsetof(packet, words)) / sizeof *p.words;
            const int code = add(find(e, p.tag, p.number, count), p.words, count);
            if (code)
                return code;
        }
        if (came == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return sbn_set_last_error(SBN_TRANSPORT_ERROR, "a rank has hung up");
    }
    return 0;
}

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    end *e = context;
    must(count > MOST, "a packet of so many words");
    sum *s = find(e, tag, e->started[tag]++, count);
    s->own = words;
    *request = s;
    packet p = {.tag = tag, .number = s->number};
    memcpy(p.words, words, sizeof *words * count);
    for (int rank = 0; rank < e->world_size; ++rank)
        if (rank != e->rank &&
            send(e->fds[rank], &p, offsetof(packet, words) + sizeof *words * count,
                 MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
            return sbn_set_last_error(SBN_TRANSPORT_ERROR, strerror(errno));
    const int code = add(s, words, count);
    return code ? code : pump(e);
}

static int test(void *context, void *request, int *done)
{
    end *e = context;
    sum *s = request;
    const int code = pump(e);
    *done = !code && s->arrived == e->world_size;
    if (!*done)
        return code;
    memcpy(s->own, s->words, sizeof *s->words * s->count);
    sum **at = &e->sums;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s);
    return 0;
}

struct transports *transports_open(int count)
{
    if (count == 1)
        return NULL;
    struct transports *transports = allocate(sizeof *transports);
    transports->count = count;
    for (int rank = 0; rank < count; ++rank) {
        end *e = &transports->ends[rank];
        e->rank = rank;
        e->world_size = count;
        for (int other = 0; other < rank; ++other) {
            int pair[2];
            must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
            e->fds[other] = pair[0];
            transports->ends[other].fds[rank] = pair[1];
        }
    }
    return transports;
}

void transports_get(struct transports *transports, int rank, sbn_transport *transport)
{
    *transport = (sbn_transport){.size = sizeof *transport,
                                 .context = &transports->ends[rank],
                                 .rank = rank,
                                 .world_size = transports->count,
                                 .start = start,
                                 .test = test};
}

void transports_close(struct transports *transports)
{
    for (int rank = 0; transports && rank < transports->count; ++rank)
        for (int other = 0; other < transports->count; ++other)
            if (other != rank)
                close(transports->ends[rank].fds[other]);
    free(transports);
}
