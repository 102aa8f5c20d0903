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
    BAD(FORWARD, dims, 1, "layer \"first\"|dims|2 to 5|1 came");
    BAD(FORWARD, dims, 6, "dims|6 came");
    BAD(BACKWARD, dims, -1, "dims|-1 came");
    BAD(FORWARD, shape[1], 4, "shape: 3 channels were expected, 4 came|(2,4,7)");
    BAD(FORWARD, shape[1], 0, "shape: 3 channels were expected, 0 came|(2,0,7)");
    BAD(BACKWARD, shape[1], 2, "shape: 3 channels|2 came");
    BAD(EVALUATE, shape[1], 4, "evaluation|3 channels|4 came");
    BAD(RECOMPUTE, shape[1], 4, "recomputation|3 channels|4 came");
    BAD(FORWARD, shape[2], SIZE_MAX, "too large|overflow");
    BAD(FORWARD, shape[0], SIZE_MAX / 2, "too large|overflow");
    BAD(FORWARD, shape[2], (size_t)1 << 31, "too large|2147483648");
    BAD(FORWARD, shape[2], ((size_t)1 << 31) - 1, "x: |floats|holds");
    BAD(FORWARD, shape[0], 4, "x: 84 floats from offset 5|(4,3,7)|holds 50");
    BAD(BACKWARD, shape[0], 1, "2 samples of 7 positions|1 of 7 came");
    BAD(BACKWARD, shape[2], 5, "2 samples of 7 positions|2 of 5 came");
    BAD(RECOMPUTE, shape[2], 5, "2 samples of 7 positions|2 of 5 came");
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
    BAD(FORWARD, x.mem, NULL, "x: a buffer was expected, NULL came");
    BAD(FORWARD, y.mem, NULL, "y: a buffer");
    BAD(FORWARD, weight.mem, NULL, "weight: a buffer");
    BAD(FORWARD, bias.mem, NULL, "bias: a buffer");
    BAD(BACKWARD, dy.mem, NULL, "dy: a buffer");
    BAD(EVALUATE, x.mem, NULL, "x: a buffer");
    BAD(RECOMPUTE, y.mem, NULL, "y: a buffer");
    BAD(FORWARD, x.mem, abroad, "x: a buffer of the queue's context was expected");
    BAD(FORWARD, y.mem, abroad, "y: a buffer of the queue's context was expected");
    BAD(BACKWARD, dx.mem, abroad, "dx: a buffer of the queue's context");
    BAD(BACKWARD, weight_grad.mem, abroad, "weight_grad: a buffer of the queue's context");
    BAD(EVALUATE, bias.mem, abroad, "bias: a buffer of the queue's context");
    BAD(FORWARD, x.offset, 9, "x: 42 floats from offset 9 were expected|holds 50");
    BAD(FORWARD, y.offset, SIZE_MAX, "y: 42 floats|holds 50");
    BAD(FORWARD, bias.offset, 9, "bias: 3 floats from offset 9|holds 11");
    BAD(BACKWARD, dx.offset, SIZE_MAX / 4, "dx: 42 floats");
    BAD(BACKWARD, bias_grad.offset, 10, "bias_grad: 3 floats from offset 10|holds 11");
    BAD(FORWARD, y.mem, s.good[1].x.mem, "y is written|overlap x");
    BAD(FORWARD, y, ((sbn_buffer){s.good[1].x.mem, 8}), "y is written|overlap x");
    BAD(FORWARD, x, s.good[1].y, "y is written|overlap x");
    BAD(BACKWARD, dx, s.good[1].dy, "dx is written|overlap dy");
    BAD(BACKWARD, dx, s.good[1].x, "dx is written|overlap x");
    BAD(BACKWARD, bias_grad, s.good[1].weight_grad, "weight_grad is written|overlap bias_grad");
    BAD(BACKWARD, weight_grad, s.good[1].weight, "weight_grad is written|overlap weight");
    BAD(EVALUATE, y, s.good[1].x, "y is written|overlap x");
    BAD(FORWARD, num_wait, 2, "wait_list: 2 events were expected, NULL came");
    BAD(EVALUATE, num_wait, 1, "wait_list: 1 events");
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
