#include "support/stage.h"

stage_objects stage;

sbn_buffer in_common(size_t offset)
{
    return (sbn_buffer){stage.common, offset};
}

void stage_open(void)
{
    float values[COMMON];
    for (int i = 0; i < COMMON; ++i)
        values[i] = (float)(i % 17);
    stage.common = fixture_buffer(&device, sizeof values, values);
    stage.group = fixture_group(queue, REPLICAS, SBN_FORM_AUTO);
    stage.watched = stage.layer = LAYER_WITH(stage.group, .channels = CHANNELS, .name = "first");
    stage.second = LAYER_WITH(stage.group, .channels = CHANNELS, .name = "second",
                              .track_running_stats = OFF);
    stage.saved = fixture_saved(stage.layer);
    stage.empty = fixture_saved(stage.layer);
    stage.of_second = fixture_saved(stage.second);
    stage.right = (arguments){.layer = stage.layer, .saved = stage.saved};
    slices_open(stage.slices, stage.right.shards, REPLICAS, &device, queue, SAMPLES / REPLICAS,
                CHANNELS, PLANE, 1);
    must(sbn_forward(stage.layer, stage.right.shards, stage.saved, 0, NULL), "sbn_forward");
    must(sbn_forward(stage.second, stage.right.shards, stage.of_second, 0, NULL), "sbn_forward");
    stage_reset();
}

void stage_reset(void)
{
    slices_reset(stage.slices, REPLICAS);
}

uint64_t stage_state(void)
{
    uint64_t digest = digest_layer(SBN_DIGEST_START, stage.watched, stage.saved);
    digest = digest_untouched(digest, stage.slices, REPLICAS);
    return digest_buffer(digest, &stage.slices[0], &(const sbn_buffer){stage.common, 0}, COMMON);
}

int stage_pass(const void *of)
{
    const arguments *a = of;
    const sbn_shard *shards = a->no_shards ? NULL : a->shards;
    sbn_result result = {.size = a->result};
    const int status = !a->begun ? fixture_pass(a->op, a->layer, shards, a->saved, a->flags,
                                                a->result ? &result : NULL)
                       : a->op == FORWARD
                           ? sbn_forward_begin(a->layer, shards, a->saved, a->flags, NULL)
                           : sbn_backward_begin(a->layer, shards, a->saved, a->flags, NULL);
    if (!status)
        stage_reset();
    return status;
}

int stage_two_layers(const void *of)
{
    const two_layers *a = of;
    sbn_branch branches[] = {a->branches[0], a->branches[1]};
    branches[0].shards = a->shards[0];
    branches[1].shards = a->shards[1];
    const int status = (a->back ? sbn_backward_branches : sbn_forward_branches)(branches, 2, NULL);
    if (!status)
        stage_reset();
    return status;
}

void stage_close(void)
{
    for (arguments a = stage.right; a.op <= RECOMPUTE; ++a.op)
        expect(stage_pass(&a), SBN_SUCCESS, "", operation_names[a.op]);
    must(sbn_forward(stage.layer, stage.right.shards, stage.saved, 0, NULL), "sbn_forward");
    tap_ok(!slice_untouched(&stage.slices[1]), "the same group works");
    slices_close(stage.slices, REPLICAS);
    clReleaseMemObject(stage.common);
    must(sbn_saved_destroy(stage.empty), "sbn_saved_destroy");
    fixture_end(stage.layer, stage.saved);
    fixture_end(stage.second, stage.of_second);
    must(sbn_group_destroy(stage.group), "sbn_group_destroy");
}
