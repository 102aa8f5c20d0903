/*
 * Ranks meet over sockets that carry whole packets: a transport such as a program could bring, written
 * from transport.h alone. Each rank has a socket to each other one, sends all of them its words and adds
 * what they send. Packets come and go when the library calls, without blocking; there are no threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/ranks.h"

/* The largest packet: the tag, the number of the reduction among those of its tag, and words. */
enum { MOST = 8192, HEAD = 2 };

typedef struct packet {
    struct packet *next;
    size_t size;
    int64_t content[];
} packet;

/* A socket, and what could not be sent so far. */
typedef struct line {
    int fd;
    packet *waiting, **last;
} line;

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
    line lines[RANKS_MAX]; /* to each other rank */
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

static void send_packet(line *l, const sum *s, const int64_t *words)
{
    packet *p = allocate(sizeof *p + sizeof *words * (HEAD + s->count));
    p->size = sizeof *words * (HEAD + s->count);
    p->content[0] = s->tag;
    p->content[1] = s->number;
    memcpy(p->content + HEAD, words, sizeof *words * s->count);
    *l->last = p;
    l->last = &p->next;
}

/* Sends what waits, as far as the socket takes it. */
static void flush(line *l)
{
    for (packet *p;
         (p = l->waiting) && send(l->fd, p->content, p->size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;) {
        l->waiting = p->next;
        l->last = l->waiting ? l->last : &l->waiting;
        free(p);
    }
}

static int pump(end *e)
{
    for (int rank = 0; rank < e->world_size; ++rank) {
        line *l = &e->lines[rank];
        int64_t content[HEAD + MOST];
        ssize_t came;
        if (rank == e->rank)
            continue;
        flush(l);
        while ((came = recv(l->fd, content, sizeof content, MSG_DONTWAIT)) > 0) {
            const size_t count = (size_t)came / sizeof *content - HEAD;
            const int code = add(find(e, content[0], content[1], count), content + HEAD, count);
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
    for (int rank = 0; rank < e->world_size; ++rank)
        if (rank != e->rank)
            send_packet(&e->lines[rank], s, words);
    const int code = add(s, words, count);
    return code ? code : pump(e);
}

static int test(void *context, void *request, int *done)
{
    end *e = context;
    sum *s = request;
    const int code = pump(e);
    *done = !code && s->arrived == e->world_size;
    /* Not before the others have this rank's words: nobody may call for a long time now. */
    for (int rank = 0; rank < e->world_size; ++rank)
        *done = *done && !e->lines[rank].waiting;
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
        for (int other = 0; other < count; ++other)
            e->lines[other].last = &e->lines[other].waiting;
        for (int other = 0; other < rank; ++other) {
            int pair[2];
            must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
            e->lines[other].fd = pair[0];
            transports->ends[other].lines[rank].fd = pair[1];
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
        for (int other = 0; other < transports->count; ++other) {
            line *l = &transports->ends[rank].lines[other];
            for (packet *p; (p = l->waiting); free(p))
                l->waiting = p->next;
            if (other != rank)
                close(l->fd);
        }
    free(transports);
}
