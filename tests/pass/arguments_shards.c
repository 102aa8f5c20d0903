/* What is refused of a pass's shards: shapes, buffers, offsets, overlaps, wait lists. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "support/refused.h"

static stage s;

#define BAD(op, field, value, words) \
    do { \
        sbn_shard bad[REPLICAS]; \
        memcpy(bad, s.good, sizeof bad); \
        bad[1].field = value; \
        refused(&s, op, s.layer, bad, s.saved, 0, SBN_INVALID_ARGUMENT, "replica 1|" words, \
                #field " = " #value); \
    } while (0)

static void check_shapes(void)
{
    BAD(FORWARD, dims, 1, "layer \"first\"|dims|2 to 5|got 1");
    BAD(FORWARD, dims, 6, "dims|got 6");
    BAD(BACKWARD, dims, -1, "dims|got -1");
    BAD(FORWARD, shape[1], 4, "shape: expected 3 channels, got 4 in (2,4,7)");
    BAD(FORWARD, shape[1], 0, "shape: expected 3 channels, got 0 in (2,0,7)");
    BAD(BACKWARD, shape[1], 2, "shape: expected 3 channels|got 2");
    BAD(EVALUATE, shape[1], 4, "evaluation|3 channels|got 4");
    BAD(RECOMPUTE, shape[1], 4, "recomputation|3 channels|got 4");
    BAD(FORWARD, shape[2], SIZE_MAX, "too large|overflow");
    BAD(FORWARD, shape[0], SIZE_MAX / 2, "too large|overflow");
    BAD(FORWARD, shape[2], (size_t)1 << 31, "too large|2147483648");
    BAD(FORWARD, shape[2], ((size_t)1 << 31) - 1, "x: |floats|got a buffer of");
    BAD(FORWARD, shape[0], 4, "x: expected 84 floats from offset 5|(4,3,7)|got a buffer of 50");
    BAD(BACKWARD, shape[0], 1, "2 samples of 7 positions|got 1 of 7");
    BAD(BACKWARD, shape[2], 5, "2 samples of 7 positions|got 2 of 5");
    BAD(RECOMPUTE, shape[2], 5, "2 samples of 7 positions|got 2 of 5");
}

/* A shard without elements is empty, whatever its other extents are. */
static void check_empty(void)
{
    const size_t huge[] = {(size_t)1 << 31, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < sizeof huge / sizeof *huge; ++i)
        for (int empty = 0; empty < 4; ++empty) {
            sbn_shard shards[REPLICAS];
            char what[80];
            if (empty == 1)
                continue; /* channels */
            memcpy(shards, s.good, sizeof shards);
            shards[1].dims = 4;
            shards[1].shape[0] = shards[1].shape[2] = shards[1].shape[3] = huge[i];
            shards[1].shape[empty] = 0;
            snprintf(what, sizeof what, "extents of %zu, extent %d is 0", huge[i], empty);
            expect(sbn_forward(s.layer, shards, s.empty, SBN_KEEP_RUNNING_STATS, NULL), SBN_SUCCESS,
                   "", what);
            expect(sbn_backward(s.layer, shards, s.empty, 0, NULL), SBN_SUCCESS, "", what);
            expect(sbn_recompute(s.layer, shards, s.empty), SBN_SUCCESS, "", what);
            expect(sbn_evaluate(s.layer, shards), SBN_SUCCESS, "", what);
        }
    stage_reset(&s);
}

static void check_buffers(cl_mem abroad)
{
    BAD(FORWARD, x.mem, NULL, "x: expected a buffer, got NULL");
    BAD(FORWARD, y.mem, NULL, "y: expected a buffer");
    BAD(FORWARD, weight.mem, NULL, "weight: expected a buffer");
    BAD(FORWARD, bias.mem, NULL, "bias: expected a buffer");
    BAD(BACKWARD, dy.mem, NULL, "dy: expected a buffer");
    BAD(EVALUATE, x.mem, NULL, "x: expected a buffer");
    BAD(RECOMPUTE, y.mem, NULL, "y: expected a buffer");
    BAD(FORWARD, x.mem, abroad, "x: expected a buffer of the queue's context");
    BAD(FORWARD, y.mem, abroad, "y: expected a buffer of the queue's context");
    BAD(BACKWARD, dx.mem, abroad, "dx: expected a buffer of the queue's context");
    BAD(BACKWARD, weight_grad.mem, abroad, "weight_grad: expected a buffer of the queue's context");
    BAD(EVALUATE, bias.mem, abroad, "bias: expected a buffer of the queue's context");
    BAD(FORWARD, x.offset, 9, "x: expected 42 floats from offset 9|got a buffer of 50");
    BAD(FORWARD, y.offset, SIZE_MAX, "y: expected 42 floats|got a buffer of 50");
    BAD(FORWARD, bias.offset, 9, "bias: expected 3 floats from offset 9|got a buffer of 11");
    BAD(BACKWARD, dx.offset, SIZE_MAX / 4, "dx: expected 42 floats");
    BAD(BACKWARD, bias_grad.offset, 10,
        "bias_grad: expected 3 floats from offset 10|got a buffer of 11");
    BAD(FORWARD, y.mem, s.good[1].x.mem, "y is written|overlap x");
    BAD(FORWARD, y, ((sbn_buffer){s.good[1].x.mem, 8}), "y is written|overlap x");
    BAD(FORWARD, x, s.good[1].y, "y is written|overlap x");
    BAD(BACKWARD, dx, ((sbn_buffer){s.good[1].dy.mem, s.good[1].dy.offset + 1}),
        "dx is written|overlap dy");
    BAD(BACKWARD, dx, s.good[1].x, "dx is written|overlap x");
    BAD(BACKWARD, bias_grad, s.good[1].weight_grad, "weight_grad is written|overlap bias_grad");
    BAD(BACKWARD, weight_grad, s.good[1].weight, "weight_grad is written|overlap weight");
    BAD(EVALUATE, y, ((sbn_buffer){s.good[1].x.mem, s.good[1].x.offset - 1}),
        "y is written|overlap x");
    BAD(FORWARD, num_wait, 2, "wait_list: expected 2 events, got NULL");
    BAD(EVALUATE, num_wait, 1, "wait_list: expected 1 events");
}

int main(void)
{
    fixture foreign;
    cl_int code;
    if (stage_open(&s) || fixture_open(&foreign))
        return fixture_missing();
    cl_mem abroad = clCreateBuffer(foreign.context, CL_MEM_READ_WRITE, 4096, NULL, &code);
    must(code, "clCreateBuffer");
    check_shapes();
    check_empty();
    check_buffers(abroad);
    clReleaseMemObject(abroad);
    fixture_close(&foreign);
    return stage_close(&s);
}
