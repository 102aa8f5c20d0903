/*
 * Views that are refused: pitches below a row, buffers that are too small, and views of one buffer
 * that share an element. Those that interleave are accepted, in one replica and of two.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/shard.h"

#include "support/fixture.h"

enum {
    SAMPLES = 3,
    CHANNELS = 4,
    PLANE = 6,
    ROW = CHANNELS * PLANE,
    PITCH = 2 * ROW + 1,
    SIZE = 400
};

static fixture device;
static cl_command_queue queue;
static sbn_batchnorm *layer;
static sbn_saved *saved;
static size_t replicas;
static cl_mem buffer, others[2];

/* x and y, one behind the other in each sample of `buffer`. */
static sbn_shard shard_of(size_t replica)
{
    sbn_shard shard = SBN_SHARD_INIT;
    shard.dims = 3;
    shard.shape[0] = SAMPLES;
    shard.shape[1] = CHANNELS;
    shard.shape[2] = PLANE;
    shard.x = (sbn_buffer){replica ? others[0] : buffer, 0};
    shard.y = (sbn_buffer){replica ? others[1] : buffer, replica ? 0 : ROW};
    shard.x_pitch = shard.y_pitch = replica ? 0 : PITCH;
    return shard;
}

static void check(const sbn_shard *shards, const char *words, const char *what)
{
    expect(sbn_forward(layer, shards, saved, 0, NULL), *words ? SBN_INVALID_ARGUMENT : SBN_SUCCESS,
           words, what);
    must(clFinish(queue), "clFinish");
}

static void open_layer(size_t count, int residual, sbn_group **group)
{
    const cl_command_queue queues[] = {queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    replicas = count;
    config.queues = queues;
    config.replicas = count;
    must(sbn_group_create(&config, group), sbn_last_error());
    settings.name = "viewed";
    settings.channels = CHANNELS;
    settings.affine = 0;
    settings.residual = residual;
    must(sbn_batchnorm_create(*group, &settings, &layer), sbn_last_error());
    must(sbn_saved_create(layer, &saved), sbn_last_error());
}

static void close_layer(sbn_group *group)
{
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    must(sbn_group_destroy(group), sbn_last_error());
}

static void check_one_replica(void)
{
    sbn_group *group;
    open_layer(1, 0, &group);
    sbn_shard shard = shard_of(0);
    check(&shard, "", "x and y interleave in one buffer");
    shard.x_pitch = ROW - 1;
    check(&shard,
          "forward of layer \"viewed\", rank 0, replica 0: x_pitch: expected 0 or at least the 24 "
          "elements of a sample, got 23",
          "a pitch below a row");
    shard = shard_of(0);
    shard.y_pitch = ROW + ((size_t)1 << 31) + 1;
    check(&shard,
          "y_pitch: expected at most 2^31 elements between samples and 2^56 in all, got 2147483649 "
          "between 3",
          "a pitch that is too large");
    --shard.y_pitch;
    check(
        &shard,
        "y: expected 4294967368 floats from offset 24 for shape (3,4,6) and pitch 2147483672, got",
        "the largest pitch, of a small buffer");
    shard = shard_of(0);
    shard.y.offset = SIZE - 2 * PITCH - ROW + 1;
    check(&shard,
          "y: expected 122 floats from offset 279 for shape (3,4,6) and pitch 49, got a buffer of "
          "400",
          "a buffer that ends within the last sample");
    shard.x = (sbn_buffer){others[0], 0};
    --shard.y.offset;
    check(&shard, "", "a buffer that ends with it");
    shard = shard_of(0);
    --shard.y.offset;
    check(&shard, "y is written and must not overlap x", "one element in common");
    shard = shard_of(0);
    shard.y.offset += 2;
    check(&shard, "y is written and must not overlap x", "one element in common with the next row");
    shard = shard_of(0);
    ++shard.y_pitch;
    check(&shard,
          "y is written and must not overlap x; between first and last element, tensors of "
          "different pitches count as overlapping",
          "different pitches");
    shard = shard_of(0);
    shard.y.offset = 2 * PITCH + ROW;
    ++shard.y_pitch;
    check(&shard, "", "different pitches, one behind the other");
    shard = shard_of(0);
    shard.y = shard.x;
    expect(sbn_evaluate(layer, &shard), SBN_SUCCESS, "", "y over x");
    shard.y_pitch = PITCH + 1;
    expect(sbn_evaluate(layer, &shard), SBN_INVALID_ARGUMENT,
           "y is written and must not overlap x; between first", "y over x with another pitch");
    shard.y_pitch = 0;
    expect(sbn_evaluate(layer, &shard), SBN_INVALID_ARGUMENT, "y is written and must not overlap x",
           "dense y over x");
    must(clFinish(queue), "clFinish");
    close_layer(group);
}

/* y of replica 1 among x and y of replica 0. */
static void check_two_replicas(void)
{
    sbn_group *group;
    open_layer(2, 0, &group);
    sbn_shard shards[] = {shard_of(0), shard_of(1)};
    for (int i = 0; i < 2; ++i)
        shards[i].x_pitch = shards[i].y_pitch = 3 * ROW;
    shards[1].x_pitch = 0;
    shards[1].y = (sbn_buffer){buffer, 2 * ROW};
    check(shards, "", "outputs of two replicas interleave with an input");
    shards[1].y.offset = 2 * ROW + 1;
    check(shards, "replica 1: y must not overlap x of replica 0 in the same call",
          "an element in common with the input");
    shards[1].y.offset = 2 * ROW - 1;
    check(shards, "replica 1: y must not overlap y of replica 0 in the same call",
          "an element in common with the output");
    shards[1].y.offset = 2 * ROW;
    shards[1].y_pitch = 2 * ROW;
    check(shards,
          "replica 1: y must not overlap|of replica 0 in the same call; between first and last "
          "element, tensors of different pitches count as overlapping",
          "different pitches of two replicas");
    close_layer(group);
}

/* The residual's gradient is dense: over dy where that is dense, too. */
static void check_residual(void)
{
    sbn_group *group;
    open_layer(1, 1, &group);
    sbn_shard shard = shard_of(1);
    shard.residual = (sbn_buffer){others[0], SAMPLES * ROW};
    check(&shard, "", "a residual");
    shard.dy = shard.residual_grad = (sbn_buffer){buffer, 0};
    expect(sbn_backward(layer, &shard, saved, 0, NULL), SBN_SUCCESS, "",
           "its gradient over a dense dy");
    shard.dy_pitch = PITCH;
    expect(sbn_backward(layer, &shard, saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "residual_grad is written and must not overlap dy", "its gradient over a view of dy");
    must(clFinish(queue), "clFinish");
    close_layer(group);
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

static void check_every_element(void)
{
    size_t count = 0, shared = 0, wrong = 0;
    for (size_t pitch = 1; pitch <= 6; ++pitch)
        for (size_t row_a = 1; row_a <= pitch; ++row_a)
            for (size_t row_b = 1; row_b <= pitch; ++row_b)
                for (size_t rows_a = 1; rows_a <= 4; ++rows_a)
                    for (size_t rows_b = 1; rows_b <= 4; ++rows_b)
                        for (size_t offset = 0; offset <= 40; ++offset) {
                            const size_t gap_a = rows_a > 1 ? pitch - row_a : 0;
                            const size_t gap_b = rows_b > 1 ? pitch - row_b : 0;
                            const sbn_use a = {"a", {buffer, 20}, rows_a * row_a, SBN_F32, 1,
                                               0,   rows_a,       gap_a,          0};
                            const sbn_use b = {"b", {buffer, offset}, rows_b * row_b, SBN_F32, 1,
                                               0,   rows_b,           gap_b,          0};
                            const int right = shares_element(&a, &b);
                            ++count;
                            shared += (size_t)right;
                            wrong += sbn__uses_overlap(&a, &b) != right;
                        }
    tap_ok(wrong == 0 && shared > 0 && shared < count,
           "%zu pairs of views, of which %zu share an element: %zu are judged wrongly", count,
           shared, wrong);
}

static void checks(void)
{
    cl_mem *const all[] = {&buffer, &others[0], &others[1]};
    for (int i = 0; i < 3; ++i) {
        float values[SIZE];
        cl_int code;
        for (int k = 0; k < SIZE; ++k)
            values[k] = (float)(k % 17);
        *all[i] = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 sizeof values, values, &code);
        must(code, "clCreateBuffer");
    }
    check_every_element();
    check_one_replica();
    check_two_replicas();
    check_residual();
    for (int i = 0; i < 3; ++i)
        clReleaseMemObject(*all[i]);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
