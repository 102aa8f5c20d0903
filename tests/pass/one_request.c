/*
 * Passes whose sums travel with the header, because all ranks expect them: they cost one request, have the
 * bits of two, and tell who disagrees as before; and the calls that ranks cannot expect.
 */
#include "support/branch_set.h"
#include "support/main.h"
#include "support/refused_ranks.h"

enum { RANKS = 3, LAYERS = 3 };

/* Rank 1 makes all sum the wide accumulators of the second one; the third sends as much as the first. */
static const branch_shape shapes[LAYERS] = {
    {.name = "first", .channels = 5, .plane = 33, .samples = 3, .full = 1},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .put = huge_on_rank_1, .full = 1},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2, .full = 1},
};

/* Forward passes of the layers, then backward ones. */
enum { CALLS = 2 * LAYERS };

/* Calls that the ranks do not end at once; a device may only begin when begin has returned, with a header sent. */
static int train_begun(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < CALLS && !status; ++i) {
        sbn_pass *pass;
        const size_t layer = i % LAYERS;
        cl_event gate = fixture_gate(&device);
        sbn_shard *shard = &set->shards[layer][0];
        shard->wait_list = &gate;
        shard->num_wait = 1;
        status = i < LAYERS ? sbn_forward_branches_begin(&set->forward[layer], 1, &pass)
                            : sbn_backward_branches_begin(&set->backward[layer], 1, &pass);
        const int started = set->cost.starts[SBN_TAG_HEADER] == i + 1;
        clSetUserEventStatus(gate, CL_COMPLETE);
        if (!status)
            status = sbn_pass_end(pass, &set->results[i / LAYERS][layer]);
        status = status || started ? status : 1;
        clReleaseEvent(gate);
        shard->num_wait = 0;
    }
    return rank_says(m, status);
}

/* All of them under way at once. */
static int train_overlapped(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    sbn_pass *passes[LAYERS];
    for (size_t i = 0; i < LAYERS; ++i)
        must(sbn_forward_branches_begin(&set->forward[i], 1, &passes[i]), "begin");
    for (size_t i = LAYERS; i-- > 0;)
        must(sbn_pass_end(passes[i], &set->results[0][i]), "end");
    for (size_t number = LAYERS; number < CALLS; ++number)
        if (branch_set_call(m, number))
            break;
    return m->status;
}

static int train_mixed(test_rank *m)
{
    return m->rank == ODD_RANK ? train_begun(m) : branch_set_train(m);
}

static int split(test_rank *m)
{
    const int colours[RANK_REPLICAS] = {INT32_MAX};
    sbn_group *part = NULL, *second = NULL;
    const int status = sbn_group_split(m->group, colours, &part);
    if (!status) {
        must(sbn_group_split(part, colours, &second), "a part of the part");
        must(sbn_group_destroy(part) != SBN_INVALID_ARGUMENT, "a group whose part is there stays");
        must(sbn_group_destroy(second) || sbn_group_destroy(part), "sbn_group_destroy");
    }
    return rank_says(m, status);
}

static int split_and_train(test_rank *m)
{
    return split(m) ? m->status : branch_set_train(m);
}

/* --- what they cost --- */

/* Four steps: by then every call is expected. */
static void teach(test_ranks *all)
{
    for (int i = 0; i < 4; ++i)
        ranks_do(all, branch_set_train);
    ranks_do(all, branch_set_digest);
}

typedef struct way {
    const char *what;
    int (*work)(test_rank *);
    size_t headers, words; /* requests */
} way;

/* The sums of the first pass of each are expected, as the step before has ended. */
static const way ways[] = {
    {"passes", branch_set_train, 6, 0},
    {"passes not ended at once", train_begun, 6, 6},
    {"passes under way together", train_overlapped, 6, 5},
    {"passes that one rank does not end at once", train_mixed, 6, 6},
    {"a split, then passes", split_and_train, 8, 3},
};

static void check_way(test_ranks *all, const way *w)
{
    teach(all);
    ranks_do(all, w->work);
    ranks_expect(all, SBN_SUCCESS, "", SBN_SUCCESS, "", w->what);
    for (int rank = 0; rank < RANKS; ++rank) {
        const branch_cost *c = &branch_set_of(&all->of[rank])->cost;
        tap_ok(!rank_is_here(&all->of[rank]) ||
                   (c->starts[SBN_TAG_HEADER] == w->headers &&
                    c->starts[SBN_TAG_WORDS] == w->words && c->starts[SBN_TAG_REPEAT] == 2 &&
                    c->words[SBN_TAG_REPEAT] == 2 * 26),
               "%s: rank %d: expected %zu headers, %zu requests of words, 2 of 26 wide ones; got "
               "%zu, %zu, %zu",
               w->what, rank, w->headers, w->words, c->starts[SBN_TAG_HEADER],
               c->starts[SBN_TAG_WORDS], c->starts[SBN_TAG_REPEAT]);
    }
    branch_sets_same_bits(all, w->what);
}

/* --- one rank makes another call than the others expect --- */

static int wrong_argument(test_rank *m)
{
    const branch_set *set = branch_set_of(m);
    return rank_says(m, sbn_forward(set->layers[0], set->shards[0], NULL, 0, NULL));
}

/* A call of one layer; the others' is that of the first. */
typedef struct arguments {
    size_t call;
    int (*work)(test_rank *); /* instead, unless NULL */
} arguments;

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    return a->work ? a->work(m) : branch_set_call(m, a->call);
}

static const ranks_call one_call = {sizeof(arguments), NULL, call, branch_set_reset,
                                    branch_set_state,  NULL};

static const refusal odd_calls[] = {
    DISAGREE(call, 1, "rank 1 called forward of layer \"second\" with 7 channels"),
    DISAGREE(call, 2, "rank 1 called forward of layer \"third\" with 5 channels"),
    DISAGREE(call, LAYERS, "rank 1 called backward of layer \"first\" with 5 channels"),
    DISAGREE(work, split, "rank 1 called sbn_group_split"),
    ROW(work, wrong_argument, "saved: expected",
        .heard = "rank 1 called forward of layer \"first\" with 5 channels and reported "
                 "SBN_INVALID_ARGUMENT"),
};

void checks(void)
{
    test_ranks all;
    branch_sets_open(&all, &device, RANKS, NULL, shapes, LAYERS);
    ranks_do(&all, branch_set_train);
    branch_sets_same_bits(&all, "a first step");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; ++i)
        check_way(&all, &ways[i]);
    for (size_t i = 0; i < sizeof odd_calls / sizeof *odd_calls; ++i) {
        teach(&all);
        ranks_refuse(&all, &one_call, &odd_calls[i], 1);
        check_way(&all, &ways[0]);
    }
    branch_sets_close(&all);
}
