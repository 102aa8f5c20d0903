/*
 * Ranks meet over sockets that carry whole packets: a transport such as a program could bring, written
 * from transport.h alone. Rank 0 has a socket to each other rank, adds what they send and sends the sum
 * back. Packets come and go when the library calls, without blocking; there are no threads.
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

/* A reduction under way. Rank 0 makes one for whoever comes first. */
typedef struct sum {
    int64_t head[HEAD];
    size_t count;
    int64_t *own;   /* the library's words, once start has been called here */
    int64_t *words; /* of rank 0: what has come so far */
    int arrived, done;
    struct sum *next;
} sum;

typedef struct end {
    int rank, world_size;
    int64_t started[SBN_TAGS];
    line *lines; /* rank 0: of each other rank; others: one, to rank 0 */
    int line_count;
    sum *sums;
} end;

struct transports {
    int count;
    end ends[RANKS_MAX];
};

static void *allocate(size_t size)
{
    void *block = calloc(1, size ? size : 1);
    must(block ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    return block;
}

static void send_packet(line *l, const sum *s, const int64_t *words)
{
    packet *p = allocate(sizeof *p + sizeof *words * (HEAD + s->count));
    p->size = sizeof *words * (HEAD + s->count);
    memcpy(p->content, s->head, sizeof s->head);
    memcpy(p->content + HEAD, words, sizeof *words * s->count);
    *l->last = p;
    l->last = &p->next;
}

static sum *find(end *e, int64_t tag, int64_t number, size_t count)
{
    for (sum *s = e->sums; s; s = s->next)
        if (s->head[0] == tag && s->head[1] == number)
            return s;
    sum *s = allocate(sizeof *s);
    *s = (sum){.head = {tag, number}, .count = count, .next = e->sums};
    s->words = allocate(sizeof *s->words * count);
    return e->sums = s;
}

/* At rank 0: one rank's words. The last one's arrival sends the sum to all. */
static int add(end *e, sum *s, const int64_t *words, size_t count)
{
    if (s->count != count)
        return sbn_set_last_error(SBN_TRANSPORT_ERROR, "the ranks' counts differ");
    for (size_t i = 0; i < count; ++i)
        s->words[i] = (int64_t)((uint64_t)s->words[i] + (uint64_t)words[i]);
    if (++s->arrived < e->world_size)
        return 0;
    for (int i = 0; i < e->line_count; ++i)
        send_packet(&e->lines[i], s, s->words);
    memcpy(s->own, s->words, sizeof *words * count);
    s->done = 1;
    return 0;
}

static int take(end *e, const int64_t *content, size_t count)
{
    sum *s = find(e, content[0], content[1], count);
    if (e->rank == 0)
        return add(e, s, content + HEAD, count);
    memcpy(s->own, content + HEAD, sizeof *content * count);
    s->done = 1;
    return 0;
}

static int pump(end *e)
{
    for (int i = 0; i < e->line_count; ++i) {
        line *l = &e->lines[i];
        int64_t content[HEAD + MOST];
        ssize_t came;
        for (packet *p; (p = l->waiting) &&
                        send(l->fd, p->content, p->size, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;) {
            l->waiting = p->next;
            l->last = l->waiting ? l->last : &l->waiting;
            free(p);
        }
        while ((came = recv(l->fd, content, sizeof content, MSG_DONTWAIT)) > 0) {
            const int code = take(e, content, (size_t)came / sizeof *content - HEAD);
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
    if (e->rank > 0)
        send_packet(&e->lines[0], s, words);
    const int code = e->rank == 0 ? add(e, s, words, count) : 0;
    return code ? code : pump(e);
}

static int test(void *context, void *request, int *done)
{
    end *e = context;
    sum *s = request;
    const int code = pump(e);
    *done = !code && s->done;
    /* Not before the others' sums are on their way: nobody may call for a long time now. */
    for (int i = 0; i < e->line_count; ++i)
        *done = *done && !e->lines[i].waiting;
    if (!*done)
        return code;
    sum **at = &e->sums;
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    free(s->words);
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
        *e = (end){.rank = rank, .world_size = count, .line_count = rank ? 1 : count - 1};
        e->lines = allocate(sizeof *e->lines * (size_t)e->line_count);
        for (int i = 0; i < e->line_count; ++i)
            e->lines[i].last = &e->lines[i].waiting;
    }
    for (int rank = 1; rank < count; ++rank) {
        int pair[2];
        must(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), "socketpair");
        transports->ends[0].lines[rank - 1].fd = pair[0];
        transports->ends[rank].lines[0].fd = pair[1];
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
    for (int rank = 0; transports && rank < transports->count; ++rank) {
        end *e = &transports->ends[rank];
        for (int i = 0; i < e->line_count; ++i) {
            for (packet *p; (p = e->lines[i].waiting); free(p))
                e->lines[i].waiting = p->next;
            close(e->lines[i].fd);
        }
        free(e->lines);
    }
    free(transports);
}
