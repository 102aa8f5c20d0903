/*
 * Buffers of two replicas, or of two layers of a call, that overlap: each pair of which one is
 * written is refused, with both names, in every pass and in folding; allowed overlaps are not.
 */
#include <stdio.h>
#include <string.h>

#include "group/group.h"
#include "support/refused.h"

enum { COMMON = 64, LARGE = SAMPLES / REPLICAS * CHANNELS * PLANE };

static stage s;
static cl_mem common;

typedef struct role {
    const char *name;
    size_t at; /* in sbn_shard, or sbn_folding */
    int written;
} role;

#define ROLE(field, written) \
    { \
#field, offsetof(sbn_shard, field), written \
    }
static const role forward_roles[] = {ROLE(x, 0), ROLE(y, 1), ROLE(weight, 0), ROLE(bias, 0)};
static const role backward_roles[] = {ROLE(x, 0),  ROLE(dy, 0),          ROLE(weight, 0),
                                      ROLE(dx, 1), ROLE(weight_grad, 1), ROLE(bias_grad, 1)};

static sbn_buffer *buffer_at(sbn_shard *shard, const role *which)
{
    return (sbn_buffer *)((char *)shard + which->at);
}

static int common_holds(float value)
{
    float values[COMMON];
    int all = 1;
    must(clEnqueueReadBuffer(s.queue, common, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    for (int i = 0; i < COMMON; ++i)
        all = all && values[i] == value;
    return all;
}

static void fill_common(float value)
{
    must(clEnqueueFillBuffer(s.queue, common, &value, sizeof value, 0, sizeof(float) * COMMON, 0,
                             NULL, NULL),
         "clEnqueueFillBuffer");
    must(clFinish(s.queue), "clFinish");
}

/* Every role of replica 1 with every role of replica 0; the number of pairs that were refused. */
static int check_pairs(operation op, const role *roles, size_t count)
{
    int pairs = 0;
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j) {
            sbn_shard shards[REPLICAS];
            char words[160], what[96];
            if (!roles[i].written && !roles[j].written)
                continue;
            memcpy(shards, s.good, sizeof shards);
            *buffer_at(&shards[1], &roles[i]) = (sbn_buffer){common, 2};
            *buffer_at(&shards[0], &roles[j]) = (sbn_buffer){common, 4};
            snprintf(words, sizeof words,
                     "layer \"first\", rank 0, replica 1: %s must not overlap %s of replica 0",
                     roles[i].name, roles[j].name);
            snprintf(what, sizeof what, "%s of replica 1, %s of replica 0", roles[i].name,
                     roles[j].name);
            fill_common(3.0f);
            refused(&s, op, s.layer, shards, s.saved, 0, SBN_INVALID_ARGUMENT, words, what);
            tap_ok(common_holds(3.0f), "%s: nothing is written", what);
            ++pairs;
        }
    return pairs;
}

#define FOLDING_ROLE(field, written) \
    { \
#field, offsetof(sbn_folding, field), written \
    }
static const role folding_roles[] = {
    FOLDING_ROLE(weight, 0),    FOLDING_ROLE(bias, 0),          FOLDING_ROLE(norm_weight, 0),
    FOLDING_ROLE(norm_bias, 0), FOLDING_ROLE(folded_weight, 1), FOLDING_ROLE(folded_bias, 1),
};
enum { FOLDING_ROLES = sizeof folding_roles / sizeof *folding_roles, FOLDING_INNER = 2, APART = 8 };

static sbn_buffer *folding_buffer(sbn_folding *folding, const role *which)
{
    return (sbn_buffer *)((char *)folding + which->at);
}

/* The same for folding: each replica has a buffer for all of its roles. */
static void check_folding(void)
{
    sbn_folding good[REPLICAS];
    cl_mem own[REPLICAS];
    int pairs = 0;
    for (size_t r = 0; r < REPLICAS; ++r) {
        cl_int code;
        own[r] = clCreateBuffer(s.device.context, CL_MEM_READ_WRITE,
                                sizeof(float) * APART * FOLDING_ROLES, NULL, &code);
        must(code, "clCreateBuffer");
        good[r] = (sbn_folding){.size = sizeof *good, .outer = 1, .inner = FOLDING_INNER};
        for (size_t i = 0; i < FOLDING_ROLES; ++i)
            *folding_buffer(&good[r], &folding_roles[i]) = (sbn_buffer){own[r], APART * i};
    }
    expect(sbn_batchnorm_fold(s.layer, good), SBN_SUCCESS, "", "a folding without overlaps");
    for (size_t i = 0; i < FOLDING_ROLES; ++i)
        for (size_t j = 0; j < FOLDING_ROLES; ++j) {
            const role *one = &folding_roles[i], *other = &folding_roles[j];
            sbn_folding foldings[REPLICAS];
            char words[160], what[96];
            if (!one->written && !other->written)
                continue;
            memcpy(foldings, good, sizeof foldings);
            *folding_buffer(&foldings[1], one) = (sbn_buffer){common, 2};
            *folding_buffer(&foldings[0], other) = (sbn_buffer){common, 4};
            snprintf(words, sizeof words,
                     "folding of layer \"first\", rank 0, replica 1: %s must not overlap %s of "
                     "replica 0",
                     one->name, other->name);
            snprintf(what, sizeof what, "%s of replica 1, %s of replica 0", one->name, other->name);
            fill_common(3.0f);
            expect(sbn_batchnorm_fold(s.layer, foldings), SBN_INVALID_ARGUMENT, words, what);
            must(clFinish(s.queue), "clFinish");
            tap_ok(common_holds(3.0f), "%s: nothing is written", what);
            ++pairs;
        }
    tap_ok(pairs == 20, "%d pairs in folding", pairs);
    for (size_t r = 0; r < REPLICAS; ++r)
        clReleaseMemObject(own[r]);
}

static void accepted(const sbn_shard *shards, const char *what)
{
    expect(sbn_forward(s.layer, shards, s.empty, SBN_KEEP_RUNNING_STATS, NULL), SBN_SUCCESS, "",
           what);
}

/* Buffers that are only read may be shared, and adjacent ones do not overlap. */
static void check_apart(void)
{
    sbn_shard shards[REPLICAS];
    fill_common(1.0f);
    memcpy(shards, s.good, sizeof shards);
    shards[0].x = shards[1].x = (sbn_buffer){common, 3};
    shards[0].weight = shards[1].weight = shards[0].bias = shards[1].bias = (sbn_buffer){common, 0};
    accepted(shards, "tensors that are only read are shared");
    shards[0].weight = shards[1].weight = (sbn_buffer){common, COMMON - CHANNELS};
    shards[0].x = s.good[0].x;
    shards[1].x = s.good[1].x;
    shards[0].bias = shards[1].bias = (sbn_buffer){common, 0};
    shards[1].y = (sbn_buffer){common, CHANNELS};
    accepted(shards, "an output between inputs of the same buffer");
    shards[1].y.offset = CHANNELS - 1;
    expect(sbn_forward(s.layer, shards, s.empty, SBN_KEEP_RUNNING_STATS, NULL),
           SBN_INVALID_ARGUMENT, "overlap", "the same, one element further down");
    shards[1].y.offset = COMMON - CHANNELS - LARGE + 1;
    expect(sbn_forward(s.layer, shards, s.empty, SBN_KEEP_RUNNING_STATS, NULL),
           SBN_INVALID_ARGUMENT, "overlap", "the same, one element too far up");
}

static int both_back(const sbn_shard *one, const sbn_shard *two, unsigned second)
{
    const sbn_branch branches[] = {{sizeof *branches, s.layer, one, s.saved, 0},
                                   {sizeof *branches, s.layer, two, s.empty, second}};
    return sbn_backward_branches(branches, 2, NULL);
}

/* Gradients of two layers in one call. */
static void check_accumulation(void)
{
    sbn_shard one[REPLICAS], two[REPLICAS];
    memcpy(one, s.good, sizeof one);
    memcpy(two, s.good, sizeof two);
    must(sbn_forward(s.layer, s.good, s.empty, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
    for (size_t r = 0; r < REPLICAS; ++r)
        two[r].dx = (sbn_buffer){NULL, 0};
    expect(both_back(one, two, SBN_ACCUMULATE_GRADIENTS), SBN_SUCCESS, "",
           "gradients that the second layer adds to");
    expect(both_back(one, two, 0), SBN_INVALID_ARGUMENT,
           "branches[1]: |replica 0: |must not overlap weight_grad of layer \"first\"",
           "gradients that the second layer overwrites");
    s.group->replicas[1].in_order = 0;
    expect(both_back(one, two, SBN_ACCUMULATE_GRADIENTS), SBN_INVALID_ARGUMENT,
           "branches[1]: |replica 1: |must not overlap", "gradients on a queue without order");
    s.group->replicas[1].in_order = 1;
    two[1].weight_grad = one[0].weight_grad;
    two[0].weight_grad = two[0].bias_grad = (sbn_buffer){NULL, 0};
    expect(
        both_back(one, two, SBN_ACCUMULATE_GRADIENTS), SBN_INVALID_ARGUMENT,
        "branches[1]: |replica 1: weight_grad must not overlap weight_grad of replica 0 of layer",
        "gradients of another replica");
    two[1] = s.good[1];
    two[1].dx = (sbn_buffer){NULL, 0};
    two[1].bias_grad = s.good[1].dx;
    expect(both_back(one, two, SBN_ACCUMULATE_GRADIENTS), SBN_INVALID_ARGUMENT,
           "branches[|replica 1: bias_grad must not overlap dx of layer", "a gradient in a tensor");
}

int main(void)
{
    if (stage_open(&s))
        return fixture_missing();
    cl_int code;
    common = clCreateBuffer(s.device.context, CL_MEM_READ_WRITE, sizeof(float) * COMMON, NULL,
                            &code);
    must(code, "clCreateBuffer");
    const size_t forward = sizeof forward_roles / sizeof *forward_roles;
    const size_t backward = sizeof backward_roles / sizeof *backward_roles;
    int pairs = check_pairs(FORWARD, forward_roles, forward);
    pairs += check_pairs(EVALUATE, forward_roles, forward);
    pairs += check_pairs(RECOMPUTE, forward_roles, forward);
    pairs += check_pairs(BACKWARD, backward_roles, backward);
    tap_ok(pairs == 3 * 7 + 27, "%d pairs", pairs);
    check_apart();
    check_accumulation();
    check_folding();
    clReleaseMemObject(common);
    return stage_close(&s);
}
