/*
 * What is refused of a pass's other arguments: handles of other kinds and of
 * other layers, flags, results, too few values, too many passes.
 */
#include <stdint.h>
#include <string.h>

#include "support/refused.h"

static stage s;

/* Handles of other kinds and of other layers, and flags of other passes. */
static void check_handles(void)
{
    sbn_saved *const no_saved = (sbn_saved *)s.layer;
    sbn_batchnorm *const no_layer = (sbn_batchnorm *)s.group;
    refused(&s, FORWARD, NULL, s.good, s.saved, 0, SBN_INVALID_ARGUMENT, "layer|got NULL",
            "NULL layer");
    refused(&s, FORWARD, no_layer, s.good, s.saved, 0, SBN_INVALID_ARGUMENT, "layer|got another",
            "group as layer");
    refused(&s, EVALUATE, no_layer, s.good, NULL, 0, SBN_INVALID_ARGUMENT, "layer|another",
            "group as layer");
    for (operation op = FORWARD; op <= RECOMPUTE; ++op) {
        if (op == EVALUATE)
            continue;
        refused(&s, op, s.layer, s.good, NULL, 0, SBN_INVALID_ARGUMENT, "saved|got NULL",
                "NULL saved");
        refused(&s, op, s.layer, s.good, no_saved, 0, SBN_INVALID_ARGUMENT, "saved|got another",
                "layer as saved");
        refused(&s, op, s.layer, s.good, s.of_second, 0, SBN_INVALID_ARGUMENT,
                "saved|\"first\"|another layer's", "saved of another layer");
        if (op != FORWARD)
            refused(&s, op, s.layer, s.good, s.empty, 0, SBN_INVALID_ARGUMENT, "saved|no forward",
                    "saved that nothing has filled");
    }
    for (operation op = FORWARD; op <= RECOMPUTE; ++op)
        refused(&s, op, s.layer, NULL, s.saved, 0, SBN_INVALID_ARGUMENT,
                "shards: expected 2, got NULL", "NULL shards");
    refused(&s, FORWARD, s.layer, s.good, s.saved, 2, SBN_INVALID_ARGUMENT,
            "flags|SBN_KEEP_RUNNING_STATS|0x2", "a backward's flag");
    refused(&s, FORWARD, s.layer, s.good, s.saved, 8, SBN_INVALID_ARGUMENT, "flags|got 0x8",
            "unknown flag");
    refused(&s, BACKWARD, s.layer, s.good, s.saved, 1, SBN_INVALID_ARGUMENT, "flags|got 0x1",
            "a forward's flag");
    refused(&s, BACKWARD, s.layer, s.good, s.saved, 0x80000006, SBN_INVALID_ARGUMENT,
            "flags|got 0x80000006", "unknown flag");
    expect(sbn_forward_begin(s.layer, s.good, s.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "pass|got NULL", "no place for the pass");
    expect(sbn_backward_begin(s.layer, s.good, s.saved, 0, NULL), SBN_INVALID_ARGUMENT,
           "pass|got NULL", "no place for the pass");
}

/* A wrong result is noticed before anything is done; in end it is too late, and all is done. */
static void check_results(void)
{
    sbn_result result = {sizeof result - 1, 77, 5, 5};
    const uint64_t before = stage_state(&s);
    expect(sbn_forward(s.layer, s.good, s.saved, 0, &result), SBN_INVALID_ARGUMENT,
           "result: size|got", "forward: a result of another size");
    tap_ok(stage_state(&s) == before && slice_untouched(&s.slices[0]), "nothing has changed");
    expect(sbn_backward(s.layer, s.good, s.saved, 0, &result), SBN_INVALID_ARGUMENT,
           "result: size|got", "backward: a result of another size");
    tap_ok(stage_state(&s) == before && slice_untouched(&s.slices[0]), "nothing has changed");
    sbn_pass *pass;
    must(sbn_forward_begin(s.layer, s.good, s.saved, SBN_KEEP_RUNNING_STATS, &pass), "begin");
    expect(sbn_pass_end(pass, &result), SBN_INVALID_ARGUMENT, "result: size|got",
           "end: a result of another size");
    tap_ok(!slice_untouched(&s.slices[0]) && result.count == 77,
           "the pass has ended nevertheless, the result is untouched");
    expect(sbn_pass_end(pass, NULL), SBN_INVALID_ARGUMENT, "pass|ended", "end: a pass twice");
    int ready = 7;
    expect(sbn_pass_progress(pass, &ready), SBN_INVALID_ARGUMENT, "pass|ended",
           "progress of an ended pass");
    tap_ok(ready == 7, "ready is untouched");
    stage_reset(&s);
}

static void check_passes_under_way(void)
{
    sbn_pass *filling, *reading, *refused_pass = (sbn_pass *)&refused_pass;
    cl_event event = (cl_event)&event;
    sbn_shard with_event[REPLICAS];
    memcpy(with_event, s.good, sizeof s.good);
    with_event[0].event = &event;
    must(sbn_forward_begin(s.layer, s.good, s.empty, SBN_KEEP_RUNNING_STATS, &filling), "begin");
    expect(sbn_forward_begin(s.layer, with_event, s.empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|1 passes under way", "forward into saved that is being filled");
    tap_ok(!refused_pass && !event, "the pass and the event are NULL");
    expect(sbn_backward_begin(s.layer, s.good, s.empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|not ended", "backward from saved that is being filled");
    expect(sbn_recompute(s.layer, s.good, s.empty), SBN_INVALID_ARGUMENT, "saved|not ended",
           "recomputation from saved that is being filled");
    must(sbn_pass_end(filling, NULL), "end");
    must(sbn_backward_begin(s.layer, s.good, s.empty, 0, &reading), "begin");
    expect(sbn_forward_begin(s.layer, s.good, s.empty, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "saved|1 passes under way", "forward into saved that a backward reads");
    must(sbn_pass_end(reading, NULL), "end");

    sbn_pass *passes[SBN_MAX_PASSES];
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_backward_begin(s.layer, s.good, s.saved, 0, &passes[i]), "begin");
    expect(sbn_backward_begin(s.layer, s.good, s.saved, 0, &refused_pass), SBN_INVALID_ARGUMENT,
           "at most 64 passes", "one pass too many");
    for (int i = 0; i < SBN_MAX_PASSES; ++i)
        must(sbn_pass_end(passes[i], NULL), "end");
    stage_reset(&s);
}

/* One value per channel in all: refused by sbn_forward, legal for sbn_evaluate. */
static void check_too_few(sbn_batchnorm *untracked)
{
    sbn_shard one[REPLICAS];
    sbn_saved *untracked_saved = fixture_saved(untracked);
    memcpy(one, s.good, sizeof one);
    one[0].shape[0] = 1;
    one[0].shape[2] = 1;
    one[1].shape[0] = 0;
    refused(&s, FORWARD, s.layer, one, s.saved, 0, SBN_TOO_FEW_VALUES,
            "forward|\"first\": expected more than 1 value per channel|got 1",
            "one value per channel");
    must(sbn_batchnorm_set_training(untracked, 0), "sbn_batchnorm_set_training");
    expect(sbn_forward(untracked, one, untracked_saved, 0, NULL), SBN_TOO_FEW_VALUES,
           "expected more than 1 value per channel over the whole group, whose statistics|got 1",
           "one value per channel in evaluation without running statistics");
    tap_ok(!strstr(sbn_last_error(), "training") &&
               !strstr(sbn_strerror(SBN_TOO_FEW_VALUES), "training"),
           "which is not in training: %s", sbn_strerror(SBN_TOO_FEW_VALUES));
    must(sbn_batchnorm_set_training(untracked, 1), "sbn_batchnorm_set_training");
    must(sbn_saved_destroy(untracked_saved), "sbn_saved_destroy");
    one[1].shape[2] = 1;
    expect(sbn_evaluate(untracked, one), SBN_SUCCESS, "",
           "evaluation of one value per channel without running statistics");
    float y[CHANNELS], bias[CHANNELS];
    buffer_read(&s.slices[0], &one[0].y, CHANNELS, y);
    buffer_read(&s.slices[0], &one[0].bias, CHANNELS, bias);
    tap_ok(memcmp(y, bias, sizeof y) == 0, "its output is the bias");
    slice_reset(&s.slices[0]);
}

int main(void)
{
    if (stage_open(&s))
        return fixture_missing();
    check_handles();
    check_results();
    check_too_few(s.second);
    check_passes_under_way();
    return stage_close(&s);
}
