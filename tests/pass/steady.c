/*
 * The steady state allocates and compiles nothing: after the first few passes no program, kernel,
 * buffer or host memory is created and no handle is left, whatever is called again; over a hub at
 * most a few more blocks are allocated.
 */
#include <string.h>

#include "base/memory.h"
#include "support/ranks.h"
#include "support/wraps.h"

enum { WARM_UP = 3, ROUNDS = 30, HUB_ROUNDS = 400 };

static const int making[] = {WRAP_ALLOCATE, WRAP_CREATE_PROGRAM, WRAP_BUILD, WRAP_CREATE_KERNEL,
                             WRAP_CREATE_BUFFER};
enum { MAKING = sizeof making / sizeof *making };

static void count(long counts[MAKING])
{
    for (int i = 0; i < MAKING; ++i)
        counts[i] = wraps_calls(making[i]);
}

/* Every kind of pass, narrow and wide, two of them under way at once. */
static void take_round(test_rank *m, const sbn_shard *wide)
{
    sbn_pass *one, *two;
    sbn_result result = SBN_RESULT_INIT;
    must(sbn_forward(m->layer, m->shards, m->saved, 0, NULL), "sbn_forward");
    must(sbn_backward(m->layer, m->shards, m->saved, 0, NULL), "sbn_backward");
    must(sbn_recompute(m->layer, m->shards, m->saved), "sbn_recompute");
    must(sbn_evaluate(m->layer, m->shards), "sbn_evaluate");
    must(sbn_forward_begin(m->layer, m->shards, m->saved, 0, &one), "begin");
    must(sbn_forward_begin(m->second, wide, m->second_saved, 0, &two), "begin");
    must(sbn_pass_end(two, &result), "end");
    must(sbn_pass_end(one, NULL), "end");
    must(result.wide == -1 ? 0 : 1, "a pass whose format devices decide");
    const sbn_branch both[] = {{sizeof(sbn_branch), m->layer, m->shards, m->saved, 0},
                               {sizeof(sbn_branch), m->second, wide, m->second_saved, 0}};
    must(sbn_forward_branches(both, 2, NULL), "sbn_forward_branches");
    must(sbn_backward_branches(both, 2, NULL), "sbn_backward_branches");
    must(sbn_backward(m->second, wide, m->second_saved, SBN_GLOBAL_GRADIENTS, NULL),
         "sbn_backward");
    must(clFinish(m->queue), "clFinish");
}

static void check_alone(const fixture *device)
{
    const size_t two[] = {2}, samples[] = {3, 2};
    test_ranks all;
    ranks_open(&all, device, 1, two, samples, NULL);
    test_rank *m = &all.of[0];
    slice wide[2];
    sbn_shard shards[2];
    for (int r = 0; r < 2; ++r) {
        slice_open(&wide[r], device, m->queue, 0, 2, RANK_CHANNELS, 1100, 5);
        buffer_fill(&wide[r], &wide[r].shard.x, 40, 3e30f);
        shards[r] = wide[r].shard;
    }
    for (int i = 0; i < WARM_UP; ++i)
        take_round(m, shards);
    long before[MAKING], after[MAKING];
    const long handles = sbn__handles_open();
    count(before);
    for (int i = 0; i < ROUNDS; ++i)
        take_round(m, shards);
    count(after);
    for (int i = 0; i < MAKING; ++i)
        tap_ok(after[i] == before[i], "%d rounds: %ld calls of %s", ROUNDS, after[i] - before[i],
               wraps_names[making[i]]);
    tap_ok(sbn__handles_open() == handles, "%d rounds: %ld more handles", ROUNDS,
           sbn__handles_open() - handles);
    slice_close(&wide[0]);
    slice_close(&wide[1]);
    ranks_close(&all);
}

static int rounds_of_hub = WARM_UP;

static int train_often(test_rank *m)
{
    for (int i = 0; i < rounds_of_hub; ++i)
        if (rank_train(m))
            break;
    return m->status;
}

static void check_hub(const fixture *device)
{
    const size_t ones[] = {1, 1}, samples[] = {3, 2};
    test_ranks all;
    ranks_open(&all, device, 2, ones, samples, NULL);
    ranks_do(&all, train_often);
    long before[MAKING], after[MAKING];
    const long handles = sbn__handles_open();
    count(before);
    rounds_of_hub = HUB_ROUNDS;
    ranks_do(&all, train_often);
    count(after);
    tap_ok(all.of[0].status == SBN_SUCCESS, "hub: %s", all.of[0].sentence);
    /* A sum for every meeting that the faster rank is ahead, on each of two streams. */
    for (int i = 0; i < MAKING; ++i)
        tap_ok(after[i] - before[i] <= (i == 0 ? 4 : 0), "hub: %d rounds: %ld calls of %s",
               HUB_ROUNDS, after[i] - before[i], wraps_names[making[i]]);
    tap_ok(sbn__handles_open() - handles <= 4, "hub: %d rounds: %ld more handles", HUB_ROUNDS,
           sbn__handles_open() - handles);
    ranks_close(&all);
}

int main(void)
{
    fixture device;
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    check_alone(&device);
    check_hub(&device);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    fixture_close(&device);
    return tap_done();
}
