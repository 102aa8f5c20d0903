/* All ranks in this process, with a thread each; the library's in-memory hub connects them. */
#include <pthread.h>

#include "support/ranks.h"

/* Before main, because not every program has main of support/main.c. */
__attribute__((constructor)) static void begin(void)
{
    fixture_one_thread();
}

int rank_is_here(const test_rank *m)
{
    (void)m;
    return 1;
}

void ranks_broadcast(int rank, void *data, size_t size)
{
    (void)rank, (void)data, (void)size;
}

typedef struct task {
    test_rank *rank;
    int (*work)(test_rank *);
    pthread_t thread;
} task;

static void *run(void *argument)
{
    const task *t = argument;
    t->work(t->rank);
    return NULL;
}

void ranks_run(test_ranks *all, int (*work)(test_rank *))
{
    task tasks[RANKS_MAX];
    for (int rank = 0; rank < all->count; ++rank) {
        tasks[rank] = (task){.rank = &all->of[rank], .work = work};
        must(pthread_create(&tasks[rank].thread, NULL, run, &tasks[rank]), "pthread_create");
    }
    for (int rank = 0; rank < all->count; ++rank)
        pthread_join(tasks[rank].thread, NULL);
}

void *transports_open(int count)
{
    sbn_hub *hub = NULL;
    if (count > 1)
        must(sbn_hub_create(count, &hub), "sbn_hub_create");
    return hub;
}

void transports_get(void *hub, int rank, sbn_transport *transport)
{
    must(sbn_hub_transport(hub, rank, transport), "sbn_hub_transport");
}

void transports_close(void *hub)
{
    sbn_hub_destroy(hub);
}
