/*
 * Thousands of small passes over four ranks, or RANKS of them, with shapes, shards, delays and operations drawn at
 * random: every rank sees the same statistics, neither handles nor memory grow, and after the first few hundred
 * nothing is compiled, no buffer is made, and hardly a block of the host is allocated. (Passes that devices combine:
 * on_device_calls.c.) An argument gives the number of rounds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "check/mix.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/ranks.h"
#include "support/wraps.h"

#ifndef RANKS
#define RANKS 4
#endif
#ifndef ROUNDS
#define ROUNDS 3000
#endif
enum { WARM_UP = 300 };

static uint64_t first_round, end_round; /* of the part that runs */

static uint64_t draw(uint64_t a, uint64_t b, uint64_t c)
{
    return mix(mix(a, b), c);
}

static void delay(uint64_t random)
{
    if (random % 8 == 0)
        nanosleep(&(struct timespec){0, (long)(random >> 8) % 2000000}, NULL);
}

/* Both layers in one call; the second one's output goes elsewhere. */
static const char *take_branches(test_rank *m, uint64_t round, const sbn_shard *shard)
{
    sbn_shard elsewhere = *shard;
    sbn_pass *pass = NULL;
    elsewhere.y = shard->dx;
    const sbn_branch list[] = {{sizeof(sbn_branch), m->layer, shard, m->saved, 0},
                               {sizeof(sbn_branch), m->second, &elsewhere, m->second_saved,
                                SBN_KEEP_RUNNING_STATS}};
    if (sbn_forward_branches_begin(list, 2, &pass))
        return "begin of branches";
    delay(draw(7, round, (uint64_t)m->rank));
    if (draw(8, round, (uint64_t)m->rank) % 2)
        sbn_pass_progress(pass, NULL);
    const int status = sbn_pass_end(pass, NULL);
    if (status)
        return status != SBN_TOO_FEW_VALUES ? "end of branches" : NULL;
    return sbn_backward_branches(list, 1, NULL) ? "backward of branches" : NULL;
}

/* One or two forwards, sometimes backward, ended in either order. */
static const char *take_passes(test_rank *m, uint64_t round, const sbn_shard *shard)
{
    sbn_pass *one = NULL, *two = NULL;
    const int both = draw(1, round, 1) % 2;
    if (sbn_forward_begin(m->layer, shard, m->saved, 0, &one))
        return "begin";
    delay(draw(3, round, (uint64_t)m->rank));
    if (both && sbn_forward_begin(m->second, shard, m->second_saved, SBN_KEEP_RUNNING_STATS, &two))
        return "the second begin";
    if (draw(4, round, (uint64_t)m->rank) % 2)
        sbn_pass_progress(one, NULL);
    const int second_first = both && draw(5, round, (uint64_t)m->rank) % 2;
    const int ended = sbn_pass_end(second_first ? two : one, NULL);
    const int ended_too = both ? sbn_pass_end(second_first ? one : two, NULL) : ended;
    /* Few values come up now and then: the same error for all, and nothing to go on with. */
    if (ended == SBN_TOO_FEW_VALUES && ended_too == SBN_TOO_FEW_VALUES)
        return NULL;
    if (ended || ended_too)
        return "end";
    delay(draw(6, round, (uint64_t)m->rank));
    if (draw(1, round, 2) % 2 && sbn_backward(m->layer, shard, m->saved, 0, NULL))
        return "backward";
    if (draw(1, round, 4) % 2 && sbn_evaluate(m->layer, shard))
        return "evaluation";
    return NULL;
}

static int soak(test_rank *m)
{
    sbn_shard shard = m->shards[0];
    const char *wrong = NULL;
    for (uint64_t round = first_round; round < end_round && !wrong; ++round) {
        shard.shape[2] = 1 + draw(1, round, 0) % 9;
        shard.shape[0] = draw(2, round, (uint64_t)m->rank + 10) % 4;
        wrong = (draw(1, round, 3) % 3 ? take_passes : take_branches)(m, round, &shard);
        m->digest = digest_layer(digest_layer(m->digest, m->layer, m->saved), m->second,
                                 m->second_saved);
        if (round % 64 == 0)
            clFinish(m->queue);
    }
    clFinish(m->queue);
    m->status = wrong != NULL;
    snprintf(m->sentence, sizeof m->sentence, "%s: %s", wrong ? wrong : "no error",
             sbn_last_error());
    return 0;
}

/* Resident pages; 0 where the system does not say. */
static long resident(void)
{
    char text[64] = "";
    folder_read("/proc/self/statm", text, sizeof text - 1);
    const char *pages = strchr(text, ' ');
    return pages ? atol(pages) : 0;
}

static const int making[] = {WRAP_ALLOCATE, WRAP_CREATE_PROGRAM, WRAP_BUILD, WRAP_CREATE_KERNEL,
                             WRAP_CREATE_BUFFER};
enum { MAKING = sizeof making / sizeof *making };

void checks(void)
{
    const int rounds = *tool() ? 300 : main_arguments[1] ? atoi(main_arguments[1]) : ROUNDS;
    long made[MAKING];
    test_ranks all;
    ranks_open(&all, &device, RANKS, NULL, NULL, NULL);
    end_round = WARM_UP;
    ranks_do(&all, soak);
    const long handles = sbn__handles_open(), pages = resident();
    for (int i = 0; i < MAKING; ++i)
        made[i] = wraps_calls[making[i]];
    first_round = WARM_UP;
    end_round = WARM_UP + (uint64_t)rounds;
    ranks_do(&all, soak);
    for (int i = 0; i < MAKING; ++i) {
        made[i] = wraps_calls[making[i]] - made[i];
        /* A sum for every meeting that the fastest rank is ahead, on each of two streams. */
        tap_ok(made[i] <= (making[i] == WRAP_ALLOCATE ? 4 * RANKS : 0),
               "%d rounds: %ld calls of %s", rounds, made[i], wraps_names[making[i]]);
    }
    for (int rank = 0; rank < RANKS; ++rank)
        tap_ok(!all.of[rank].status && all.of[rank].digest == all.of[0].digest,
               "rank %d: %d rounds, the statistics of rank 0 (%s)", rank, rounds,
               all.of[rank].sentence);
    const long more = sbn__handles_open() - handles, kilobytes = (resident() - pages) * 4;
    /* An event is kept here and there, until the next pass of the same memory. */
    tap_ok(more <= 16 * RANKS, "%ld more handles than after %d rounds", more, WARM_UP);
    tap_ok(kilobytes < 32 * 1024 || *tool(), "%ld KB more resident", kilobytes);
    ranks_close(&all);
}
