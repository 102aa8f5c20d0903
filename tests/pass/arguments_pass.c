/* What is refused of a pass: handles, flags, results, too few values, shapes, and what is under way. */
#include <stdio.h>
#include <string.h>

#include "support/stage.h"

static void check_handles(void)
{
    sbn_saved *const no_saved = (sbn_saved *)stage.layer;
    sbn_batchnorm *const no_layer = (sbn_batchnorm *)stage.group;
    for (operation op = FORWARD; op <= RECOMPUTE; ++op) {
        const refusal of_all[] = {
            OF(op, layer, NULL, "layer|got NULL"),
            OF(op, layer, no_layer, "layer|got another"),
            OF(op, no_shards, 1, "shards: expected 2, got NULL"),
        };
        const refusal of_saved[] = {
            OF(op, saved, NULL, "saved|got NULL"),
            OF(op, saved, no_saved, "saved|got another"),
            OF(op, saved, stage.of_second, "saved|\"first\"|another layer's"),
        };
        REFUSE_PASS(stage.right, of_all);
        if (op != EVALUATE)
            REFUSE_PASS(stage.right, of_saved);
    }
    /* A backward pass's flag, a forward pass's, and ones of none. */
    const refusal rows[] = {
        OF(BACKWARD, saved, stage.empty, "saved|no forward"),
        OF(RECOMPUTE, saved, stage.empty, "saved|no forward"),
        OF(FORWARD, flags, 2, "flags|SBN_KEEP_RUNNING_STATS|0x2"),
        OF(FORWARD, flags, 8, "flags|got 0x8"),
        OF(BACKWARD, flags, 1, "flags|got 0x1"),
        OF(BACKWARD, flags, 0x80000006, "flags|got 0x80000006"),
        OF(FORWARD, begun, 1, "pass|got NULL"),
        OF(BACKWARD, begun, 1, "pass|got NULL"),
        OF(FORWARD, result, sizeof(sbn_result) - 1, "result: size|got"),
        OF(BACKWARD, result, sizeof(sbn_result) - 1, "result: size|got"),
    };
    REFUSE_PASS(stage.right, rows);
}

/* At the end it is too late to refuse a wrong result: the pass has ended nevertheless. */
static void check_end(void)
{
    arguments a = stage.right;
    cl_event event = (cl_event)&event;
    sbn_result result = {sizeof result - 1, 77, 5, 5};
    sbn_pass *pass;
    int ready = 7;
    a.shards[0].event = &event;
    must(sbn_forward_begin(stage.layer, a.shards, stage.saved, SBN_KEEP_RUNNING_STATS, &pass),
         "sbn_forward_begin");
    REFUSED(sbn_pass_end(pass, &result), "result: size|got");
    tap_ok(!event, "after an error there is no event");
    tap_ok(!slice_untouched(&stage.slices[0]) && result.count == 77,
           "the pass has ended nevertheless, the result is untouched");
    REFUSED(sbn_pass_progress(pass, &ready), "pass|ended");
    tap_ok(ready == 7, "ready is untouched");
    stage_reset();
}

static void check_under_way(void)
{
    const sbn_shard *const shards = stage.right.shards;
    sbn_pass *under_way, *refused = (sbn_pass *)&refused, *passes[SBN_MAX_PASSES];
    cl_event event = (cl_event)&event;
    arguments with_event = stage.right;
    with_event.shards[0].event = &event;
    must(sbn_forward_begin(stage.layer, shards, stage.empty, SBN_KEEP_RUNNING_STATS, &under_way),
         "sbn_forward_begin");
    REFUSED(sbn_forward_begin(stage.layer, with_event.shards, stage.empty, 0, &refused),
            "saved|passes under way (1)");
    tap_ok(!refused && !event, "the pass and the event are NULL");
    REFUSED(sbn_backward(stage.layer, shards, stage.empty, 0, NULL), "saved|not ended");
    event = (cl_event)&event;
    REFUSED(sbn_recompute(stage.layer, with_event.shards, stage.empty), "saved|not ended");
    tap_ok(!event, "the recomputation's event is NULL");
    const cl_event others = event = fixture_gate(&device);
    cl_uint owners = 0;
    clRetainEvent(others);
    with_event.shards[0].dims = 1;
    REFUSED(sbn_evaluate(stage.layer, with_event.shards), "dims|got 1");
    clGetEventInfo(others, CL_EVENT_REFERENCE_COUNT, sizeof owners, &owners, NULL);
    tap_ok(!event && owners == 2, "the evaluation's is NULL, and what was there is not released");
    clReleaseEvent(others);
    clReleaseEvent(others);
    must(sbn_pass_end(under_way, NULL), "sbn_pass_end");
    must(sbn_backward_begin(stage.layer, shards, stage.empty, 0, &under_way), "begin");
    REFUSED(sbn_forward(stage.layer, shards, stage.empty, 0, NULL), "saved|passes under way (1)");
    must(sbn_pass_end(under_way, NULL), "sbn_pass_end");
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_backward_begin(stage.layer, shards, stage.saved, 0, &passes[i]), "begin");
    REFUSED(sbn_backward_begin(stage.layer, shards, stage.saved, 0, &refused), "at most 64 passes");
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_pass_end(passes[i], NULL), "sbn_pass_end");
    stage_reset();
}

static void check_shapes(void)
{
    const refusal rows[] = {
        BAD(FORWARD, dims, 1, "layer \"first\"|dims|2 to 5|got 1"),
        BAD(FORWARD, dims, 6, "dims|got 6"),
        BAD(FORWARD, shape[1], 4, "shape: expected 3 channels, got 4 in (2,4,7)"),
        BAD(FORWARD, shape[1], 0, "shape: expected 3 channels, got 0 in (2,0,7)"),
        BAD(FORWARD, shape[2], SIZE_MAX, "too large|overflow"),
        BAD(FORWARD, shape[0], SIZE_MAX / 2, "too large|overflow"),
        BAD(FORWARD, shape[0], ((size_t)1 << 29) + 1, "too large|536870913"),
        BAD(FORWARD, shape[0], (size_t)1 << 29, "x: |floats|got a buffer of"),
        BAD(FORWARD, shape[2], (size_t)1 << 31, "too large|2147483648"),
        BAD(FORWARD, shape[2], ((size_t)1 << 31) - 1, "x: |floats|got a buffer of"),
        BAD(FORWARD, shape[0], 4, "x: expected 84 floats from offset 5|(4,3,7)|got a buffer of 50"),
        BAD(BACKWARD, shape[0], 1, "2 samples of 7 positions|got 1 of 7"),
        OF(BACKWARD, shards[0].shape[2], 5, "replica 0|2 samples of 7 positions|got 2 of 5"),
        BAD(RECOMPUTE, shape[2], 5, "2 samples of 7 positions|got 2 of 5"),
    };
    REFUSE_PASS(stage.right, rows);
}

/* A shard without elements is empty, whatever its other extents are. */
static void check_empty(void)
{
    const size_t huge[] = {(size_t)1 << 31, (size_t)1 << 40, SIZE_MAX};
    for (size_t i = 0; i < 3 * sizeof huge / sizeof *huge; ++i) {
        const size_t extent = huge[i / 3], empty = (size_t[]){0, 2, 3}[i % 3];
        arguments a = stage.right;
        char what[80];
        a.saved = stage.empty;
        a.shards[1].dims = 3 + (int)i % 3;
        a.shards[1].shape[0] = a.shards[1].shape[2] = a.shards[1].shape[3] = a.shards[1].shape[4] =
            extent;
        a.shards[1].shape[empty] = 0;
        snprintf(what, sizeof what, "extents of %zu, extent %zu is 0", extent, empty);
        for (a.op = FORWARD; a.op <= RECOMPUTE; ++a.op)
            expect(stage_pass(&a), SBN_SUCCESS, "", what);
    }
}

/* One value per channel in all: refused by sbn_forward, legal for sbn_evaluate. */
static void check_too_few(void)
{
    arguments one = stage.right;
    float y[CHANNELS], bias[CHANNELS];
    const refusal rows[] = {
        ROW(shards[1].shape[0], 0,
            "forward|\"first\": expected more than 1 value per channel|got 1",
            .status = SBN_TOO_FEW_VALUES),
    };
    one.shards[0].shape[0] = 1;
    one.shards[0].dims = 2;
    one.shards[1].shape[0] = 1;
    REFUSE_PASS(one, rows);
    one.shards[1].shape[0] = 0;
    must(sbn_batchnorm_set_training(stage.second, 0), "sbn_batchnorm_set_training");
    expect(sbn_forward(stage.second, one.shards, stage.of_second, 0, NULL), SBN_TOO_FEW_VALUES,
           "expected more than 1 value per channel over the whole group, whose statistics|got 1",
           "one value per channel in evaluation without running statistics");
    tap_ok(!strstr(sbn_last_error(), "training") &&
               !strstr(sbn_strerror(SBN_TOO_FEW_VALUES), "training"),
           "which is not in training: %s", sbn_strerror(SBN_TOO_FEW_VALUES));
    must(sbn_batchnorm_set_training(stage.second, 1), "sbn_batchnorm_set_training");
    RIGHT(sbn_evaluate(stage.second, one.shards));
    buffer_read(&stage.slices[0], &one.shards[0].y, CHANNELS, y);
    buffer_read(&stage.slices[0], &one.shards[0].bias, CHANNELS, bias);
    tap_ok(memcmp(y, bias, sizeof y) == 0, "its output is the bias");
    stage_reset();
}

void checks(void)
{
    stage_open();
    check_handles();
    check_end();
    check_under_way();
    check_shapes();
    check_empty();
    check_too_few();
    stage_close();
}
