/*
 * Tensors that overlap, of two replicas, of two layers in a call, of views of one buffer, are refused with both names
 * where one is written; so are pitches below a row and buffers too small for a view. What interleaves or only touches
 * is accepted. Dense buffers of one replica: arguments_buffers.c; the bits of what is in place: tests/pass/same.
 */
#include <stdio.h>
#include <string.h>

#include "support/stage.h"
#include "tensor/shard.h"

enum {
    DENSE = SAMPLES / REPLICAS * CHANNELS * PLANE,
    ROW_SIZE = CHANNELS * PLANE,
    PITCH = 2 * ROW_SIZE + 1,
    ROWS = 3,
    VIEW = 2 * PITCH + ROW_SIZE
};

/* --- pairs of two replicas' --- */

typedef struct role {
    const char *name;
    size_t at; /* in sbn_shard, or sbn_folding */
    int written;
} role;

#define TENSOR(field) #field, offsetof(sbn_shard, field)
#define FOLDED(field) #field, offsetof(sbn_folding, field)
static const role forward_roles[] = {{TENSOR(x), 0},
                                     {TENSOR(y), 1},
                                     {TENSOR(weight), 0},
                                     {TENSOR(bias), 0}};
static const role backward_roles[] = {{TENSOR(x), 0},           {TENSOR(dy), 0},
                                      {TENSOR(weight), 0},      {TENSOR(dx), 1},
                                      {TENSOR(weight_grad), 1}, {TENSOR(bias_grad), 1}};
static const role folding_roles[] = {{FOLDED(weight), 0},        {FOLDED(bias), 0},
                                     {FOLDED(norm_weight), 0},   {FOLDED(norm_bias), 0},
                                     {FOLDED(folded_weight), 1}, {FOLDED(folded_bias), 1}};
#define ROLES(of) of, sizeof of / sizeof *of

/* A call for two replicas, whose structs begin `at` in its arguments, `step` bytes apart. */
typedef struct paired_call {
    const char *name;
    int (*call)(const void *arguments);
    const void *right;
    size_t size, at, step;
} paired_call;

/* Every role of replica 1 with every role of replica 0; the number of pairs that were refused. */
static int check_pairs(const paired_call *c, const role *roles, size_t count)
{
    int pairs = 0;
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j) {
            const role *const of[] = {&roles[j], &roles[i]};
            unsigned char shared[sizeof(arguments)];
            char words[160];
            refusal pair[2];
            if (!roles[i].written && !roles[j].written)
                continue;
            for (size_t r = 0; r < REPLICAS; ++r) {
                const sbn_buffer buffer = in_common(4 - 2 * r);
                const size_t at = c->at + r * c->step + of[r]->at;
                memcpy(shared + at, &buffer, sizeof buffer);
                pair[r] = (refusal){of[r]->name, at, sizeof buffer, shared,
                                    .words = r ? words : NULL};
            }
            snprintf(
                words, sizeof words,
                "%s of layer \"first\", rank 0, replica 1: %s must not overlap %s of replica 0",
                c->name, roles[i].name, roles[j].name);
            refuse(c->name, c->call, c->right, c->size, stage_state, pair, 2);
            ++pairs;
        }
    return pairs;
}

static void check_passes(void)
{
    int pairs = 0;
    arguments a = stage.right;
    for (a.op = FORWARD; a.op <= RECOMPUTE; ++a.op) {
        const paired_call pass = {operation_names[a.op],       stage_pass,       &a, sizeof a,
                                  offsetof(arguments, shards), sizeof(sbn_shard)};
        pairs += a.op == BACKWARD ? check_pairs(&pass, ROLES(backward_roles))
                                  : check_pairs(&pass, ROLES(forward_roles));
    }
    tap_ok(pairs == 3 * 7 + 27, "%d pairs", pairs);
}

typedef struct folding {
    sbn_batchnorm *layer;
    sbn_folding of[REPLICAS], behind;
    int none;
} folding;

static int fold(const void *arguments_of)
{
    const folding *a = arguments_of;
    return sbn_batchnorm_fold(a->layer, a->none ? NULL : a->of);
}

#define FOLD(field, value, words) ROW_OF(folding, field, value, words)

/* Each replica has a part of the common buffer for all roles of its folding. */
static void check_folding(void)
{
    enum { INNER = 2, APART = 8, OWN = 100 };
    cl_event another = (cl_event)&another, none = another;
    folding good = {.layer = stage.layer, .behind = FOLDING_WITH(.event = &another)};
    sbn_batchnorm *adds = LAYER_WITH(stage.group, .name = "adds", .channels = 1, .residual = 1);
    const paired_call call = {"folding",      fold, &good, sizeof good, offsetof(folding, of),
                              sizeof *good.of};
    for (size_t r = 0; r < REPLICAS; ++r) {
        good.of[r] = FOLDING_WITH(.outer = 1, .inner = INNER);
        for (size_t i = 0; i < sizeof folding_roles / sizeof *folding_roles; ++i) {
            const sbn_buffer buffer = in_common(OWN * (r + 1) + APART * i);
            memcpy((char *)&good.of[r] + folding_roles[i].at, &buffer, sizeof buffer);
        }
    }
    const int pairs = check_pairs(&call, ROLES(folding_roles));
    tap_ok(pairs == 20, "%d pairs in folding", pairs);
    const refusal rows[] = {
        FOLD(layer, NULL, "layer|NULL"),
        FOLD(layer, stage.second, "no running statistics"),
        FOLD(layer, adds, "layer \"adds\"|residual|not folded"),
        FOLD(none, 1, "foldings|2|NULL"),
        FOLD(of[1].outer, 0, "replica 1|outer|got 0"),
        FOLD(of[1].inner, 0, "inner|got 0"),
        FOLD(of[1].inner, 1000, "weight|expected 3000 floats|got a buffer of"),
        FOLD(of[1].weight.mem, NULL, "weight|got NULL"),
        FOLD(of[1].folded_weight.mem, NULL, "folded_weight|got NULL"),
        FOLD(of[1].folded_bias.mem, NULL, "folded_bias|got NULL"),
        FOLD(of[1].norm_weight.mem, NULL, "norm_weight|got NULL"),
        FOLD(of[1].norm_bias.mem, NULL, "norm_bias|got NULL"),
        FOLD(of[1].folded_weight, good.of[1].weight, "overlap"),
    };
    REFUSE("folding", fold, good, stage_state, rows);
    good.of[0].event = &none;
    good.of[1].num_wait = 1;
    REFUSED(fold(&good), "wait_list|1 events");
    tap_ok(another && !none, "an event is NULL; what lies behind the foldings is left alone");
    good.layer = adds;
    good.of[1].num_wait = 0;
    none = another;
    tap_ok(fold(&good) && another && !none, "nor has a layer that cannot be folded an event");
    must(sbn_batchnorm_destroy(adds), "sbn_batchnorm_destroy");
}

/* Buffers that are only read may be shared, and adjacent ones do not overlap. */
static void check_apart(void)
{
    arguments a = stage.right;
    a.saved = stage.empty;
    a.shards[0].x = a.shards[1].x = in_common(3);
    for (size_t r = 0; r < REPLICAS; ++r)
        a.shards[r].weight = a.shards[r].bias = in_common(0);
    RIGHT(stage_pass(&a));
    for (size_t r = 0; r < REPLICAS; ++r) {
        a.shards[r].x = stage.right.shards[r].x;
        a.shards[r].weight = in_common(COMMON - CHANNELS);
    }
    a.shards[1].y = in_common(CHANNELS);
    const refusal between[] = {
        ROW(shards[1].y.offset, CHANNELS - 1, "overlap"),
        ROW(shards[1].y.offset, COMMON - CHANNELS - DENSE + 1, "overlap"),
        ROW(shards[1].y.offset, COMMON - CHANNELS - DENSE, ""),
    };
    REFUSE_PASS(a, between);
    /* A shorter tensor hides none, and of two the first in the call is named. */
    a.shards[0].x = in_common(0);
    a.shards[1].weight = in_common(CHANNELS);
    a.shards[1].y = in_common(DENSE / 2);
    REFUSED(stage_pass(&a), "replica 1: y must not overlap x of replica 0");
    a.shards[0].y = in_common(DENSE);
    REFUSED(stage_pass(&a), "replica 1: y must not overlap x of replica 0");
    a = stage.right;
    a.saved = stage.empty;
    for (size_t r = 0; r < REPLICAS; ++r) {
        a.shards[r].running_mean = in_common(0);
        a.shards[r].running_var = in_common(CHANNELS);
    }
    REFUSED(stage_pass(&a), "running_mean must not overlap running_mean of replica 0");
    a.flags = SBN_KEEP_RUNNING_STATS;
    RIGHT(stage_pass(&a));
}

/* Gradients of two layers in one call: the second adds to the first's, but on a queue with order. */
static void check_accumulation(void)
{
    const sbn_shard *const good = stage.right.shards;
    two_layers a = {{{sizeof(sbn_branch), stage.layer, NULL, stage.saved, 0},
                     {sizeof(sbn_branch), stage.layer, NULL, stage.empty,
                      SBN_ACCUMULATE_GRADIENTS}},
                    .back = 1};
    memcpy(a.shards[0], good, sizeof a.shards[0]);
    memcpy(a.shards[1], good, sizeof a.shards[1]);
    for (size_t r = 0; r < REPLICAS; ++r)
        a.shards[1][r].dx = (sbn_buffer){NULL, 0};
    must(sbn_forward(stage.layer, good, stage.empty, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
    stage_reset();
#define BOTH(field, value, words) ROW_OF(two_layers, field, value, words)
    const refusal rows[] = {
        BOTH(branches[1].flags, 0,
             "branches[1]: |replica 0: |must not overlap weight_grad of layer \"first\""),
        BOTH(shards[1][0].weight_grad.mem, NULL, NULL),
        BOTH(shards[1][0].bias_grad.mem, NULL, NULL),
        BOTH(shards[1][1].weight_grad, good[0].weight_grad,
             "branches[1]: |replica 1: weight_grad must not overlap weight_grad of replica 0 of "
             "layer"),
        BOTH(shards[1][1].bias_grad, good[1].dx,
             "branches[|replica 1: bias_grad must not overlap dx of layer"),
    };
    REFUSE("two layers", stage_two_layers, a, stage_state, rows);
    stage.group->replicas[1].in_order = 0;
    expect(stage_two_layers(&a), SBN_INVALID_ARGUMENT, "branches[1]: |replica 1: |must not overlap",
           "gradients on a queue without order");
    stage.group->replicas[1].in_order = 1;
}

/* --- views --- */

/* x and y of replica 1, one behind the other in each sample of the common buffer. */
static void check_views(void)
{
    const size_t far = ROW_SIZE + ((size_t)1 << 31);
    arguments a = stage.right;
    sbn_shard *const shard = &a.shards[1];
    const sbn_buffer own = shard->x;
    shard->shape[0] = ROWS;
    shard->x = in_common(0);
    shard->y = in_common(ROW_SIZE);
    shard->x_pitch = shard->y_pitch = PITCH;
#define VIEWED(field, value, words) ROW(shards[1].field, value, words)
#define PITCHES \
    "; between first and last element, tensors of different pitches count as overlapping"
    const refusal rows[] = {
        VIEWED(x_pitch, ROW_SIZE - 1,
               "forward of layer \"first\", rank 0, replica 1: x_pitch: expected 0 or at least the "
               "21 elements of a sample, got 20"),
        VIEWED(x_pitch, ROW_SIZE, "y is written and must not overlap x"),
        VIEWED(shape[0], (size_t)1 << 26, NULL),
        VIEWED(y_pitch, (size_t)1 << 30, "x: expected"),
        VIEWED(shape[0], (size_t)1 << 26, NULL),
        VIEWED(y_pitch, ((size_t)1 << 30) + 1, "and 2^56 in all, got 1073741804 between 67108864"),
        VIEWED(y_pitch, far + 1,
               "y_pitch: expected at most 2^31 elements between samples and 2^56 in all, got "
               "2147483649 between 3"),
        VIEWED(y_pitch, far,
               "y: expected 4294967359 floats from offset 21 for shape (3,3,7) and pitch "
               "2147483669, got"),
        VIEWED(y.offset, COMMON - VIEW + 1,
               "y: expected 107 floats from offset 294 for shape (3,3,7) and pitch 43, "
               "got a buffer of 400"),
        VIEWED(shape[0], 1, NULL),
        VIEWED(x, own, NULL),
        VIEWED(y.offset, COMMON - ROW_SIZE, ""),
        VIEWED(y_pitch, PITCH + 1, "y is written and must not overlap x" PITCHES),
        VIEWED(y_pitch, PITCH + 1, NULL),
        VIEWED(y.offset, VIEW, ""),
        VIEWED(y_pitch, ROW_SIZE + 1, NULL),
        VIEWED(y.offset, COMMON, "(3,3,7) and pitch 22, got a buffer"),
    };
    REFUSE_PASS(a, rows);
    shard->y = shard->x;
    const refusal in_place[] = {
        VIEWED(y_pitch, PITCH + 1, "y is written and must not overlap x" PITCHES),
        VIEWED(y_pitch, 0, "y is written and must not overlap x"),
    };
    a.op = EVALUATE;
    REFUSE_PASS(a, in_place);
}

/* Of a layer whose channels come last a row is a pixel, or a sample that has only one. */
static void check_pixels(void)
{
    arguments a = stage.right;
    const refusal rows[] = {
        VIEWED(x_pitch, CHANNELS - 1,
               "x_pitch: expected 0 or at least the 3 elements of a pixel, got 2"),
        VIEWED(dims, 2, NULL),
        VIEWED(x_pitch, CHANNELS - 1,
               "x_pitch: expected 0 or at least the 3 elements of a sample, got 2"),
    };
    a.layer = LAYER_WITH(stage.group, .channels = CHANNELS, .layout = SBN_LAYOUT_NHWC);
    a.op = EVALUATE;
    REFUSE_PASS(a, rows);
    must(sbn_batchnorm_destroy(a.layer), "sbn_batchnorm_destroy");
}

/* y of replica 1 among x and y of replica 0. */
static void check_two_views(void)
{
    arguments a = stage.right;
    a.shards[0].x = in_common(0);
    a.shards[0].y = in_common(ROW_SIZE);
    a.shards[1].y = in_common(2 * ROW_SIZE);
    a.shards[0].x_pitch = a.shards[0].y_pitch = a.shards[1].y_pitch = 3 * ROW_SIZE;
    const refusal rows[] = {
        VIEWED(y.offset, 2 * ROW_SIZE + 1,
               "replica 1: y must not overlap x of replica 0 in the same call"),
        VIEWED(y.offset, 2 * ROW_SIZE - 1,
               "replica 1: y must not overlap y of replica 0 in the same call"),
        VIEWED(y_pitch, 2 * ROW_SIZE,
               "replica 1: y must not overlap|of replica 0 in the same call" PITCHES),
    };
    REFUSE_PASS(a, rows);
}

/* Two views of the same pitch, or a view and a run, against their elements one by one. */
static int shares_element(const sbn_use *a, const sbn_use *b)
{
    enum { MOST = 256 };
    char used[MOST] = {0};
    const sbn_use *const both[] = {a, b};
    for (int i = 0; i < 2; ++i) {
        const sbn_use *u = both[i];
        const size_t row = u->elements / u->rows;
        for (size_t r = 0; r < u->rows; ++r)
            for (size_t e = 0; e < row; ++e)
                if (used[u->buffer.offset + r * (row + u->gap) + e]++)
                    return 1;
    }
    return 0;
}

static sbn_use use_of(size_t offset, size_t rows, size_t row, size_t pitch)
{
    return (sbn_use){"a",  in_common(offset),          rows * row, SBN_F32, 1, 0,
                     rows, rows > 1 ? pitch - row : 0, 0};
}

static void check_every_element(void)
{
    size_t count = 0, shared = 0, wrong = 0;
    for (size_t pitch = 1; pitch <= 6; ++pitch)
        for (size_t row_a = 1; row_a <= pitch; ++row_a)
            for (size_t row_b = 1; row_b <= pitch; ++row_b)
                for (size_t rows_a = 1; rows_a <= 4; ++rows_a)
                    for (size_t rows_b = 1; rows_b <= 4; ++rows_b)
                        for (size_t offset = 0; offset <= 40; ++offset) {
                            const sbn_use a = use_of(20, rows_a, row_a, pitch);
                            const sbn_use b = use_of(offset, rows_b, row_b, pitch);
                            const int right = shares_element(&a, &b);
                            ++count;
                            shared += (size_t)right;
                            wrong += sbn__uses_overlap(&a, &b) != right;
                        }
    tap_ok(wrong == 0 && shared > 0 && shared < count,
           "%zu pairs of views, of which %zu share an element: %zu are judged wrongly", count,
           shared, wrong);
}

/* x and y, then weight, then bias of replica 1, end to end; and a buffer of its own for x. */
static void check_types(void)
{
    arguments a = stage.right;
    sbn_shard *const shard = &a.shards[1];
    const sbn_buffer own = {stage.right.shards[1].x.mem, 58}, late = {own.mem, 59};
    static const char *const beyond[] =
        {"x: expected 42 halves from offset 59 for shape (2,3,7), got a buffer of 100",
         "x: expected 42 bfloat16s from offset 59 for shape (2,3,7), got a buffer of 100"};
    shard->x = in_common(0);
    shard->y = in_common(DENSE);
    shard->weight = in_common(DENSE);
    shard->bias = in_common(DENSE + CHANNELS);
    a.op = EVALUATE;
    for (sbn_type type = SBN_F16; type <= SBN_BF16; ++type) {
        const refusal rows[] = {
            VIEWED(y.offset, DENSE - 1, "y is written and must not overlap x"),
            VIEWED(y.offset, DENSE + 1, "y is written and must not overlap weight"),
            VIEWED(weight.offset, DENSE - 1, "y is written and must not overlap weight"),
            VIEWED(x, own, ""),
            VIEWED(x, late, beyond[type == SBN_BF16]),
        };
        a.layer = LAYER_WITH(stage.group, .channels = CHANNELS, .type = type);
        REFUSE_PASS(a, rows);
        must(sbn_batchnorm_destroy(a.layer), "sbn_batchnorm_destroy");
    }
}

void checks(void)
{
    stage_open();
    check_passes();
    check_folding();
    check_apart();
    check_accumulation();
    check_views();
    check_pixels();
    check_two_views();
    check_every_element();
    check_types();
    stage_close();
}
