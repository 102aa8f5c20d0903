/*
 * Views that are refused: pitches below a row, buffers that are too small, and views of one buffer
 * that share an element, in one replica and of two. Sizes of halves and bfloat16s are counted in
 * bytes. What interleaves or only touches is accepted.
 */
#include "support/stage.h"
#include "tensor/shard.h"

enum { DENSE = SAMPLES / REPLICAS * CHANNELS * PLANE };

enum {
    ROW_SIZE = CHANNELS * PLANE,
    PITCH = 2 * ROW_SIZE + 1,
    ROWS = 3,
    VIEW = 2 * PITCH + ROW_SIZE
};

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
        VIEWED(
            y.offset, COMMON - VIEW + 1,
            "y: expected 107 floats from offset 294 for shape (3,3,7) and pitch 43, got a buffer "
            "of 400"),
        VIEWED(shape[0], 1, NULL),
        VIEWED(x, own, NULL),
        VIEWED(y.offset, COMMON - ROW_SIZE, ""),
        VIEWED(y_pitch, PITCH + 1,
               "y is written and must not overlap x; between first and last element, tensors of "
               "different pitches count as overlapping"),
        VIEWED(y_pitch, PITCH + 1, NULL),
        VIEWED(y.offset, VIEW, ""),
    };
    REFUSE_PASS(a, rows);
    shard->y = shard->x;
    const refusal in_place[] = {
        VIEWED(y_pitch, PITCH + 1, "y is written and must not overlap x; between first"),
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
        VIEWED(
            y_pitch, 2 * ROW_SIZE,
            "replica 1: y must not overlap|of replica 0 in the same call; between first and last "
            "element, tensors of different pitches count as overlapping"),
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
    shard->x = in_common(0);
    shard->y = in_common(DENSE);
    shard->weight = in_common(DENSE);
    shard->bias = in_common(DENSE + CHANNELS);
    const refusal halves[] = {
        VIEWED(y.offset, DENSE - 1, "y is written and must not overlap x"),
        VIEWED(y.offset, DENSE + 1, "y is written and must not overlap weight"),
        VIEWED(weight.offset, DENSE - 1, "y is written and must not overlap weight"),
        VIEWED(x, own, ""),
        VIEWED(x, late,
               "x: expected 42 halves from offset 59 for shape (2,3,7), got a buffer of 100"),
    };
    const refusal bfloat16s[] = {
        VIEWED(x, late,
               "x: expected 42 bfloat16s from offset 59 for shape (2,3,7), got a buffer of 100")};
    a.layer = LAYER_WITH(stage.group, .channels = CHANNELS, .type = SBN_F16);
    a.op = EVALUATE;
    REFUSE_PASS(a, halves);
    must(sbn_batchnorm_destroy(a.layer), "sbn_batchnorm_destroy");
    a.layer = LAYER_WITH(stage.group, .channels = CHANNELS, .type = SBN_BF16);
    a.op = EVALUATE;
    REFUSE_PASS(a, bfloat16s);
    must(sbn_batchnorm_destroy(a.layer), "sbn_batchnorm_destroy");
}

void checks(void)
{
    stage_open();
    check_views();
    check_pixels();
    check_two_views();
    check_every_element();
    check_types();
    stage_close();
}
