/*
 * Ranks meet over stream sockets: a transport such as a program could bring,
 * written from transport.h alone. Rank 0 has a socket to each other rank,
 * adds what they send and sends the sum back. A frame is a head and its words.
 * Data is sent and received only in `test`, which does not block; there are no threads.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "support/ranks.h"

typedef struct head {
    int64_t tag, number, count;
} head;

/* Bytes that come or go, a frame after another. */
typedef struct bytes {
    char *at;
    size_t used, room;
} bytes;

typedef struct line {
    int fd;
    bytes in, out;
} line;

/* A reduction under way. Rank 0 makes one for whoever comes first. */
typedef struct sum {
    head what;
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

static void append(bytes *b, const void *from, size_t size)
{
    if (b->used + size > b->room) {
        b->room = 2 * (b->used + size);
        b->at = realloc(b->at, b->room);
        must(b->at ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "realloc");
    }
    memcpy(b->at + b->used, from, size);
    b->used += size;
}

static void drop(bytes *b, size_t size)
{
    b->used -= size;
    memmove(b->at, b->at + size, b->used);
}

static void send_frame(line *l, const head *what, const int64_t *words)
{
    append(&l->out, what, sizeof *what);
    append(&l->out, words, sizeof *words * (size_t)what->count);
}

static sum *find(end *e, const head *what)
{
    for (sum *s = e->sums; s; s = s->next)
        if (s->what.tag == what->tag && s->what.number == what->number)
            return s;
    sum *s = allocate(sizeof *s);
    *s = (sum){.what = *what, .next = e->sums};
    if (e->rank == 0)
        s->words = allocate(sizeof *s->words * (size_t)what->count);
    return e->sums = s;
}

/* At rank 0: one rank's words. The last one's arrival sends the sum to all. */
static int add(end *e, const head *what, const int64_t *words)
{
    sum *s = find(e, what);
    if (s->what.count != what->count)
        return sbn_set_last_error(SBN_TRANSPORT_ERROR, "the ranks' counts differ");
    for (int64_t i = 0; i < what->count; ++i)
        s->words[i] = (int64_t)((uint64_t)s->words[i] + (uint64_t)words[i]);
    if (++s->arrived < e->world_size)
        return 0;
    for (int i = 0; i < e->line_count; ++i)
        send_frame(&e->lines[i], what, s->words);
    memcpy(s->own, s->words, sizeof *words * (size_t)what->count);
    s->done = 1;
    return 0;
}

/* A whole frame, if there is one. */
static int take_frame(end *e, line *l, int *taken)
{
    head what;
    *taken = 0;
    if (l->in.used < sizeof what)
        return 0;
    memcpy(&what, l->in.at, sizeof what);
    const size_t size = sizeof(int64_t) * (size_t)what.count;
    if (l->in.used < sizeof what + size)
        return 0;
    int64_t *words = allocate(size);
    memcpy(words, l->in.at + sizeof what, size);
    drop(&l->in, sizeof what + size);
    int code = 0;
    if (e->rank == 0) {
        code = add(e, &what, words);
    } else {
        sum *s = find(e, &what);
        memcpy(s->own, words, size);
        s->done = 1;
    }
    free(words);
    *taken = 1;
    return code;
}

static int pump(end *e)
{
    for (int i = 0; i < e->line_count; ++i) {
        line *l = &e->lines[i];
        char buffer[4096];
        ssize_t moved;
        while (l->out.used > 0 &&
               (moved = send(l->fd, l->out.at, l->out.used, MSG_DONTWAIT | MSG_NOSIGNAL)) > 0)
            drop(&l->out, (size_t)moved);
        while ((moved = recv(l->fd, buffer, sizeof buffer, MSG_DONTWAIT)) > 0)
            append(&l->in, buffer, (size_t)moved);
        if (moved == 0 || (errno != EAGAIN && errno != EWOULDBLOCK))
            return sbn_set_last_error(SBN_TRANSPORT_ERROR, "a rank has hung up");
        int taken = 1, code = 0;
        while (taken && !code)
            code = take_frame(e, l, &taken);
        if (code)
            return code;
    }
    return 0;
}

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    end *e = context;
    const head what = {tag, e->started[tag]++, (int64_t)count};
    sum *s = find(e, &what);
    s->own = words;
    *request = s;
    if (e->rank == 0) {
        const int code = add(e, &what, words);
        return code ? code : pump(e);
    }
    send_frame(&e->lines[0], &what, words);
    return pump(e);
}

static int test(void *context, void *request, int *done)
{
    end *e = context;
    sum *s = request;
    const int code = pump(e);
    *done = !code && s->done;
    /* Not before the others' sums are on their way: nobody may call for a long time now. */
    for (int i = 0; i < e->line_count; ++i)
        *done = *done && e->lines[i].out.used == 0;
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
    }
    for (int rank = 1; rank < count; ++rank) {
        int pair[2];
        must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), "socketpair");
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
            close(e->lines[i].fd);
            free(e->lines[i].in.at);
            free(e->lines[i].out.at);
        }
        free(e->lines);
    }
    free(transports);
}
