/*
 * The steady state over a hub compiles nothing and makes no buffer: after the first few passes at most a
 * few more blocks of the host are allocated. (Passes that devices combine: on_device_calls.c.)
 */

#include "base/memory.h"
#include "support/ranks.h"
#include "support/wraps.h"

enum { WARM_UP = 3, ROUNDS = 400 };

static fixture device;

static const int making[] = {WRAP_ALLOCATE, WRAP_CREATE_PROGRAM, WRAP_BUILD, WRAP_CREATE_KERNEL,
                             WRAP_CREATE_BUFFER};
enum { MAKING = sizeof making / sizeof *making };

static void count(long counts[MAKING])
{
    for (int i = 0; i < MAKING; ++i)
        counts[i] = wraps_calls(making[i]);
}

static int rounds = WARM_UP;

/* Training, evaluation, and both layers in one call; the second one's y goes where dx was. */
static int work(test_rank *m)
{
    sbn_shard second = m->shards[0];
    second.y = second.dx;
    const sbn_branch both[] = {{sizeof(sbn_branch), m->layer, m->shards, m->saved, 0},
                               {sizeof(sbn_branch), m->second, &second, m->second_saved, 0}};
    int status = SBN_SUCCESS;
    for (int i = 0; i < rounds && !status; ++i) {
        status = rank_train(m);
        if (!status)
            status = sbn_evaluate(m->layer, m->shards);
        if (!status)
            status = sbn_forward_branches(both, 2, NULL);
        if (!status)
            status = rank_says(m, sbn_backward_branches(both, 1, NULL));
    }
    return status;
}

static void checks(void)
{
    const size_t ones[] = {1, 1}, samples[] = {3, 2};
    test_ranks all;
    ranks_open(&all, &device, 2, ones, samples, NULL);
    ranks_do(&all, work);
    long before[MAKING], after[MAKING];
    const long handles = sbn__handles_open();
    count(before);
    rounds = ROUNDS;
    ranks_do(&all, work);
    count(after);
    tap_ok(all.of[0].status == SBN_SUCCESS, "hub: %s", all.of[0].sentence);
    /* A sum for every meeting that the faster rank is ahead, on each of two streams. */
    for (int i = 0; i < MAKING; ++i)
        tap_ok(after[i] - before[i] <= (i == 0 ? 4 : 0), "hub: %d rounds: %ld calls of %s", ROUNDS,
               after[i] - before[i], wraps_names[making[i]]);
    tap_ok(sbn__handles_open() - handles <= 4, "hub: %d rounds: %ld more handles", ROUNDS,
           sbn__handles_open() - handles);
    ranks_close(&all);
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
