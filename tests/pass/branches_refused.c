/*
 * Calls of three layers over three ranks that fail on one of them: bad input, devices that fail in
 * one layer, layers about which the ranks do not agree. Each rank gets a sentence that names the
 * layer, nothing has changed in any layer, and the groups go on.
 */
#include <string.h>

#include "support/branch_set.h"
#include "support/main.h"
#include "support/refused_ranks.h"
#include "support/wraps.h"

enum { RANKS = 3, LAYERS = 3 };

/* The second one needs the wide format; rank 1 has no values in the third. */
static const branch_shape shapes[LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "second", .channels = 7, .plane = 9, .samples = 3, .put = huge},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2},
};

/* On rank 1 the frozen one needs the wide format; it has values in all three. */
static const branch_shape frozen_redone[LAYERS] = {
    {.name = "first", .channels = 3, .plane = 33, .samples = 3},
    {.name = "frozen", .channels = 4, .plane = 10, .samples = 2, .put = huge_on_rank_1, .fixed = 1},
    {.name = "third", .channels = 5, .plane = 20, .samples = 2, .full = 1},
};

/* Saved statistics of the first layer, on each rank: of two passes of one call, and a frozen one. */
typedef enum saved_of { USUAL, ONE_PASS, OTHER_PASS, FROZEN_PASS, SAVED } saved_of;
static sbn_saved *saved[RANKS][SAVED];

typedef struct arguments {
    sbn_branch list[LAYERS];
    sbn_shard second[RANK_REPLICAS]; /* of the second layer */
    size_t count, result;            /* the size of the third result */
    int back, no_list;
    int frozen; /* the third layer */
    saved_of saved;
    failure fails;
} arguments;

static void right(test_rank *m, void *of)
{
    const branch_set *set = branch_set_of(m);
    arguments *a = of;
    *a = (arguments){.count = LAYERS, .result = sizeof(sbn_result)};
    memcpy(a->list, set->forward, sizeof a->list);
    memcpy(a->second, set->shards[1], sizeof a->second);
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    branch_set *set = branch_set_of(m);
    sbn_branch list[LAYERS], *const given = a->no_list ? NULL : list;
    sbn_result *const results = set->results[a->back];
    memcpy(list, a->list, sizeof list);
    if (list[1].shards == set->shards[1])
        list[1].shards = a->second;
    if (a->saved)
        list[0].saved = saved[m->rank][a->saved];
    results[2].size = a->result;
    must(sbn_batchnorm_set_frozen(set->layers[2], a->frozen), "sbn_batchnorm_set_frozen");
    rank_says(m, WITH_FAILURE(a->fails.function, a->fails.n,
                              a->back ? sbn_backward_branches(given, a->count, results)
                                      : sbn_forward_branches(given, a->count, results)));
    must(sbn_batchnorm_set_frozen(set->layers[2], 0), "sbn_batchnorm_set_frozen");
    return m->status;
}

static const ranks_call pass =
    {sizeof(arguments), right, call, branch_set_reset, branch_set_state, branch_set_train_together};

/* Before a row of backward passes. */
#define BACK ROW(back, 1, NULL, .odd = ALL_RANKS)

#define FIRST "layer \"first\" with 3 channels"
#define SECOND "layer \"second\" with 7 channels"
#define THIRD "layer \"third\" with 5 channels"
#define ODD "rank 1 called "
#define OTHERS "|ranks 0, 2 called "
#define FAILED(text) .status = CL_OUT_OF_RESOURCES, .heard = text
#define OF_SECOND ODD "forward of " SECOND " and reported "

static void check_errors(test_ranks *all)
{
    const branch_set *odd = branch_set_of(&all->of[ODD_RANK]);
    const sbn_buffer written = odd->shards[0][0].y;
    const refusal rows[] = {
        ROW(list[1].saved, NULL, "branches[1]: forward of layer|rank 1: saved|got NULL",
            .heard = OF_SECOND "SBN_INVALID_ARGUMENT"),
        ROW(list[2].layer, NULL, "branches[2]: layer|got NULL",
            .heard = "rank 1 called forward and reported SBN_INVALID_ARGUMENT"),
        ROW(list[2], odd->forward[0],
            "branches[2]: forward of layer|rank 1: saved|passes under way (1)",
            .heard = ODD "forward of " FIRST " and reported"),
        ROW(second[0].x, written, NULL),
        ROW(second[0].shape[0], 1,
            "branches[1]: forward of layer \"second\", rank 1, replica 0: x must not overlap y of "
            "layer \"first\" in the same call",
            .heard = OF_SECOND "SBN_INVALID_ARGUMENT"),
        ROW(result, sizeof(sbn_result) - 1, "results[2]: size",
            .heard = "rank 1|SBN_INVALID_ARGUMENT"),
        ROW(second[0].shape[2], 1, NULL, .odd = ALL_RANKS),
        ROW(second[0].shape[0], 0, NULL, .odd = ALL_RANKS),
        ROW(second[0].shape[0], 1, "forward of layer \"second\": expected more than 1|got 1",
            .status = SBN_TOO_FEW_VALUES),
        /* The reads: of the first layer, the second, and that once more in the wide format. */
        ROW(fails, ((failure){WRAP_READ, 2}), "replica 0|clEnqueueReadBuffer",
            FAILED(OF_SECOND "CL_OUT_OF_RESOURCES")),
        ROW(fails, ((failure){WRAP_READ, 3}), "replica 0|clEnqueueReadBuffer",
            FAILED(OF_SECOND "CL_OUT_OF_RESOURCES")),
        ROW(fails, ((failure){WRAP_EVENT_INFO, 1}), "replica 0|clGetEventInfo",
            FAILED("rank 1 called forward of layer \"first\"|CL_OUT_OF_RESOURCES")),
        BACK,
        ROW(second[0].dx.offset, 1 << 20,
            "branches[1]: backward of layer \"second\", rank 1, replica 0: dx",
            .heard = "rank 1 called backward of layer \"second\"|SBN_INVALID_ARGUMENT"),
        /* What the others cannot learn of: nobody calls rightly. */
        ROW(count, 0, "count: expected at least 1 layer, got 0", .odd = ALL_RANKS),
        ROW(count, 65536, NULL, .odd = ALL_RANKS),
        ROW(list[0].size, 0, "branches[0]: size|got 0", .odd = ALL_RANKS),
        ROW(count, 65537, "count: expected at most 65536 layers, got", .odd = ALL_RANKS),
        ROW(count, SIZE_MAX, "count: expected at most 65536 layers, got", .odd = ALL_RANKS),
        ROW(no_list, 1, "branches: expected an array of layers, got NULL", .odd = ALL_RANKS),
        ROW(list[0].layer, NULL, "branches[0]: layer|got NULL", .odd = ALL_RANKS),
    };
    RANKS_REFUSE(all, &pass, rows);
}

static int save_otherwise(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    sbn_batchnorm *const layer = set->layers[0];
    sbn_saved **const own = saved[m->rank];
    sbn_shard elsewhere = set->shards[0][0];
    elsewhere.y = elsewhere.dx;
    for (int i = ONE_PASS; i < SAVED; ++i)
        own[i] = fixture_saved(layer);
    const unsigned flags = SBN_KEEP_RUNNING_STATS;
    const sbn_branch calls[] = {
        {sizeof(sbn_branch), layer, set->shards[0], own[ONE_PASS], flags},
        {sizeof(sbn_branch), layer, &elsewhere, own[OTHER_PASS], flags},
    };
    must(sbn_forward_branches(calls, 2, NULL), "sbn_forward_branches");
    must(sbn_batchnorm_set_frozen(layer, 1), "sbn_batchnorm_set_frozen");
    must(sbn_forward(layer, set->shards[0], own[FROZEN_PASS], 0, NULL), "sbn_forward");
    must(sbn_batchnorm_set_frozen(layer, 0), "sbn_batchnorm_set_frozen");
    clFinish(m->queue);
    return SBN_SUCCESS;
}

static int end_saved(test_rank *m)
{
    for (int i = ONE_PASS; i < SAVED; ++i)
        must(sbn_saved_destroy(saved[m->rank][i]), "sbn_saved_destroy");
    return SBN_SUCCESS;
}

static void check_disagreements(test_ranks *all)
{
    const branch_set *odd = branch_set_of(&all->of[ODD_RANK]);
    const refusal rows[] = {
        DISAGREE(count, 2, ODD "forward of 2 layers" OTHERS "forward of " THIRD " in place 3"),
        ROW(count, 2, NULL),
        DISAGREE(list[1], odd->forward[2],
                 ODD "forward of " THIRD " in place 2" OTHERS "forward of " SECOND " in place 2"),
        DISAGREE(list[2].flags, SBN_KEEP_RUNNING_STATS,
                 "all ranks called forward of " THIRD " in place 3 |"
                 "(flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2)"),
        DISAGREE(back, 1, ODD "backward of " FIRST "; " OTHERS "forward of " FIRST),
        DISAGREE(frozen, 1, ODD "forward of 2 layers" OTHERS "forward of " THIRD " in place 3"),
        BACK,
        DISAGREE(count, 1, ODD "backward of 1 layer;" OTHERS "backward of " SECOND " in place 2"),
        BACK,
        ROW(list[1], odd->forward[2], NULL),
        DISAGREE(list[2], odd->forward[1],
                 ODD "backward of " THIRD " in place 2" OTHERS "backward of " SECOND " in place 2"),
        BACK,
        ROW(list[0].flags, SBN_GLOBAL_GRADIENTS, NULL, .odd = ALL_RANKS),
        DISAGREE(saved, FROZEN_PASS, ODD "frozen backward of " FIRST OTHERS "backward of " FIRST),
        BACK,
        ROW(count, 1, NULL, .odd = ALL_RANKS),
        ROW(saved, ONE_PASS, NULL, .odd = ALL_RANKS),
        DISAGREE(saved, OTHER_PASS,
                 "all ranks called backward of " FIRST
                 " |(saved in place 2 on rank 1, 1 on ranks 0, 2)"),
    };
    ranks_do(all, save_otherwise);
    RANKS_REFUSE(all, &pass, rows);
    ranks_do(all, end_saved);
}

/* The first passes of a group: what fails is the memory for its passes, both times. */
static int without_memory(test_rank *m)
{
    branch_set *set = branch_set_of(m);
    const int frozen = WITH_FAILURE(WRAP_ALLOCATE, 1,
                                    sbn_forward_branches(&set->forward[1], 1, NULL));
    const int lives = sbn_group_status(m->group, NULL) == SBN_SUCCESS;
    rank_says(m, WITH_FAILURE(WRAP_ALLOCATE, 1, sbn_forward_branches(set->forward, 2, NULL)));
    return m->status = frozen == SBN_OUT_OF_MEMORY && lives ? m->status : SBN_SUCCESS;
}

/* A rank that cannot tell the others fails for good, unless its pass needs none of them. */
static void check_memory(test_ranks *all)
{
    static const char words[] = "memory left for a pass, nor to tell the other ranks";
    ranks_do(all, without_memory);
    ranks_expect(all, SBN_OUT_OF_MEMORY, words, SBN_OUT_OF_MEMORY, words, "no memory for a pass");
}

static void check_frozen(test_ranks *all)
{
    static const ranks_call alone = {sizeof(arguments), right, call, branch_set_reset,
                                     branch_set_state,  NULL};
    const refusal rows[] = {
        ROW(list[1].saved, NULL, "branches[1]: forward of layer|rank 1: saved|got NULL",
            .heard = "rank 1 called forward of layer \"frozen\" with 4 channels and reported "
                     "SBN_INVALID_ARGUMENT"),
    };
    /* Rank 1 fails where the others have all they need: they succeed, and then learn. */
    const refusal redo[] = {
        BACK,
        ROW(fails, ((failure){WRAP_READ, 1 + LAYERS}), "replica 0|clEnqueueReadBuffer", FAILED(""),
            .changes = 1),
        ROW(back, 0, "rank 1|failed earlier|clEnqueueReadBuffer", .status = SBN_GROUP_FAILED,
            .heard = "rank 1|SBN_GROUP_FAILED"),
    };
    ranks_do(all, branch_set_train_together);
    RANKS_REFUSE(all, &pass, rows);
    RANKS_REFUSE(all, &alone, redo);
}

void checks(void)
{
    test_ranks all;
    branch_sets_open(&all, &device, RANKS, NULL, shapes, LAYERS);
    ranks_do(&all, branch_set_train_together);
    check_errors(&all);
    check_disagreements(&all);
    branch_sets_close(&all);
    branch_sets_open(&all, &device, RANKS, NULL, frozen_redone, LAYERS);
    check_frozen(&all);
    branch_sets_close(&all);
    branch_sets_open(&all, &device, RANKS, NULL, frozen_redone, LAYERS);
    check_memory(&all);
    branch_sets_close(&all);
}
