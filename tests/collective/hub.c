/*
 * Groups of several ranks, threads over the in-memory transport or ranks over MPI: the same bits as one group of as many
 * replicas; and when ranks do not agree, each learns who did what, nothing has changed, and the same groups go on.
 */
#include "support/main.h"
#include "support/refused_ranks.h"
#include "support/wraps.h"

/* Twice, with the values of all ranks. */
static int train(test_rank *m)
{
    if (!rank_train(m) && !rank_train(m))
        m->status = m->result.count != 8 * RANK_PLANE || !m->result.synchronised;
    return m->status;
}

static void check_bits(void)
{
    const size_t ones[] = {1, 1, 1, 1}, twos[] = {2, 2}, four[] = {4}, some[] = {1, 0, 2};
    const size_t even[] = {2, 2, 2, 2}, uneven[] = {1, 3, 0, 4}, three[] = {5, 3, 0};
    const uint64_t alone = ranks_digest_of(&device, 1, four, even, train, "4 replicas");
    tap_ok(ranks_digest_of(&device, 4, ones, even, train, "4 x 1") == alone,
           "4 threads of 1 replica give the same bits");
    tap_ok(ranks_digest_of(&device, 2, twos, uneven, train, "2 x 2") == alone,
           "2 threads of 2 replicas, uneven: the same bits");
    tap_ok(ranks_digest_of(&device, 3, some, three, train, "1, 0, 2") == alone,
           "a rank without replicas: the same bits");
}

/* --- ranks that do not agree ------------------------------------------------------------- */

/* A pass of a rank: forward of the first layer, if nothing else is said. */
typedef struct arguments {
    operation op;
    int second;          /* another layer */
    int fresh, no_saved; /* saved statistics of its own, or none */
    sbn_shard shard;
    size_t result; /* its size */
    failure fails;
    sbn_batchnorm_config own;  /* a layer with these settings, where there are channels */
    float weight;              /* its second one */
    int (*work)(test_rank *m); /* instead of all that */
} arguments;

static void right(test_rank *m, void *of)
{
    *(arguments *)of =
        (arguments){.shard = m->shards[0], .result = sizeof(sbn_result), .weight = 1};
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    sbn_result result = {.size = a->result};
    sbn_buffer second_weight = a->shard.weight;
    ++second_weight.offset;
    buffer_fill(&m->slices[0], &second_weight, 1, a->weight);
    if (a->work)
        return a->work(m);
    sbn_batchnorm *own = a->own.channels ? fixture_layer_with(m->group, a->own) : NULL;
    sbn_batchnorm *layer = own ? own : a->second ? m->second : m->layer;
    sbn_saved *fresh = own || a->fresh ? fixture_saved(layer) : NULL;
    sbn_saved *saved = a->no_saved ? NULL : fresh ? fresh : a->second ? m->second_saved : m->saved;
    rank_says(m, WITH_FAILURE(a->fails.function, a->fails.n,
                              fixture_pass(a->op, layer, &a->shard, saved, 0, &result)));
    sbn_saved_destroy(fresh);
    sbn_batchnorm_destroy(own);
    return m->status;
}

/* Backward of the first of two forwards, where the others take the second. */
static int other_forward(test_rank *m)
{
    sbn_saved *saved[2];
    for (int i = 0; i < 2; ++i) {
        saved[i] = fixture_saved(m->layer);
        sbn_forward(m->layer, m->shards, saved[i], SBN_KEEP_RUNNING_STATS, NULL);
    }
    clFinish(m->queue);
    slice_reset(&m->slices[0]);
    rank_says(m, sbn_backward(m->layer, m->shards, saved[m->rank != ODD_RANK], 0, NULL));
    for (int i = 0; i < 2; ++i)
        sbn_saved_destroy(saved[i]);
    return m->status;
}

#define ALL(field, value) ROW(field, value, NULL, .odd = ALL_RANKS)
#define OWN_LAYER ALL(own.channels, RANK_CHANNELS), ALL(own.name, "odd")
#define FAILS(function, words) \
    ROW(fails, ((failure){function, 1}), words, .status = CL_OUT_OF_RESOURCES, \
        .heard = FIRST "CL_OUT_OF_RESOURCES")
#define FIRST "rank 1 called forward of layer \"first\"|"
#define INVALID .heard = FIRST "SBN_INVALID_ARGUMENT"

/* Right calls on a group that has failed on rank 1. */
#define AFTERWARDS \
    ROW(second, 0, "rank 1|failed earlier|clEnqueueWriteBuffer", .status = SBN_GROUP_FAILED, \
        .heard = "rank 1|SBN_GROUP_FAILED")

static void check_refusals(test_ranks *all)
{
    const refusal rows[] = {
        /* Ranks may pass filled and empty saved statistics to a forward pass. */
        ROW(fresh, 1, "", .changes = 1),
        DISAGREE(second, 1,
                 "rank 1 called forward of layer \"second\"|"
                 "ranks 0, 2 called forward of layer \"first\" with 3 channels"),
        DISAGREE(op, BACKWARD, "rank 1 called backward of|ranks 0, 2 called forward of"),
        OWN_LAYER,
        ROW(shard.shape[1], 2, NULL),
        DISAGREE(
            own.channels, 2,
            "rank 1 called forward of layer \"odd\" with 2 channels|ranks 0, 2|with 3 channels"),
        OWN_LAYER,
        DISAGREE(own.eps, 1e-3,
                 "all ranks called forward of layer \"odd\" with 3 channels (eps 0.001 on rank 1, "
                 "1e-05 on ranks 0, 2)"),
        OWN_LAYER,
        ALL(own.from_output, 1),
        ROW(weight, 1e-9f, "layer \"odd\", rank 1, replica 0: weight: |in channel 1",
            .heard = "rank 1 called forward of layer \"odd\"|SBN_INVALID_ARGUMENT"),
        DISAGREE(work, other_forward,
                 "all ranks called backward of layer \"first\" with 3 channels|"
                 "channels (saved by call |on rank 1, | on ranks 0, 2)",
                 .odd = ALL_RANKS),
        ROW(shard.y.offset, 1 << 20, "rank 1, replica 0: y: ", INVALID),
        ROW(no_saved, 1, "saved|got NULL", INVALID),
        ALL(op, BACKWARD),
        ROW(result, 1, "result: size", .heard = "rank 1 called backward|SBN_INVALID_ARGUMENT"),
        /* One value in all. */
        ALL(shard.shape[2], 1),
        ROW(shard.shape[0], 0, NULL, .odd = ALL_RANKS & ~(1u << ODD_RANK)),
        ROW(shard.shape[0], 1, "more than 1 value|got 1", .status = SBN_TOO_FEW_VALUES),
        /* Before the header, and after it. */
        FAILS(WRAP_READ, "clEnqueueReadBuffer"),
        FAILS(WRAP_EVENT_INFO, "replica 0|clGetEventInfo"),
    };
    /* A device fails in the apply, after the sums were combined: the others learn of it next time. */
    const refusal failed[] = {
        ROW(fails, ((failure){WRAP_WRITE, 1}), "replica 0|clEnqueueWriteBuffer",
            .status = CL_OUT_OF_RESOURCES, .heard = "", .changes = 1),
        AFTERWARDS,
        AFTERWARDS,
    };
    ranks_call pass = {sizeof(arguments), right, call, rank_reset, rank_state, rank_train};
    RANKS_REFUSE(all, &pass, rows);
    pass.go_on = NULL;
    RANKS_REFUSE(all, &pass, failed);
}

static void check_split(void)
{
    const int both[] = {0, 1};
    sbn_hub *hub;
    sbn_transport whole = {.size = sizeof whole}, part = whole, another = whole;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 0, &whole), "sbn_hub_transport");
    tap_ok(WITH_FAILURE(WRAP_ALLOCATE, 1, whole.split(whole.context, both, 2, 0, &part)) ==
               SBN_OUT_OF_MEMORY,
           "a split without memory: %s", sbn_last_error());
    must(whole.split(whole.context, both, 2, 0, &part), "a group's part");
    must(whole.split(whole.context, both, 2, 0, &another),
         "another group's, whose numbers are the same");
    tap_ok(part.context != another.context, "two groups of a hub have parts of their own");
    sbn_hub_destroy(hub);
}

void checks(void)
{
    test_ranks all;
    check_split();
    check_bits();
    ranks_open(&all, &device, 3, NULL, NULL, NULL);
    ranks_do(&all, rank_train);
    check_refusals(&all);
    ranks_close(&all);
}
