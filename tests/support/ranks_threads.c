/* All members in this process, a thread for each; place_*.c is where they meet. */
#include <pthread.h>

#include "support/ranks.h"

void members_begin(int *argc, char ***argv)
{
    (void)argc, (void)argv;
}

int members_end(int result)
{
    return result;
}

int members_most(void)
{
    return MEMBERS_MAX;
}

int member_is_here(const member *m)
{
    (void)m;
    return 1;
}

void members_share(int rank, void *data, size_t size)
{
    (void)rank, (void)data, (void)size;
}

typedef struct task {
    member *member;
    int (*work)(member *);
    pthread_t thread;
} task;

static void *run(void *argument)
{
    const task *t = argument;
    t->work(t->member);
    return NULL;
}

void members_run(members *all, int (*work)(member *))
{
    task tasks[MEMBERS_MAX];
    for (int rank = 0; rank < all->count; ++rank) {
        tasks[rank] = (task){.member = &all->of[rank], .work = work};
        must(pthread_create(&tasks[rank].thread, NULL, run, &tasks[rank]), "pthread_create");
    }
    for (int rank = 0; rank < all->count; ++rank)
        pthread_join(tasks[rank].thread, NULL);
}
