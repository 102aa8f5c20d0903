/*
 * Empty batches; evaluation by the statistics of a batch of all ranks. Running statistics in the caller's
 * buffers: tests/pass/same.
 */
#include "support/ranks.h"
#include "support/refused.h"

enum { CHANNELS = RANK_CHANNELS, PLANE = RANK_PLANE, SAMPLES = 3 };

static fixture device;
static cl_command_queue queue;

static int holds(const slice *s, const sbn_buffer *buffer, float value)
{
    float got[CHANNELS];
    int same = 1;
    buffer_read(s, buffer, CHANNELS, got);
    for (size_t c = 0; c < CHANNELS; ++c)
        same = same && got[c] == value;
    return same;
}

/* No samples, then no positions: nothing changes, and gradients are zeros. */
static void check_empty(sbn_group *group)
{
    sbn_batchnorm *layer = fixture_layer(group, CHANNELS);
    sbn_saved *saved = fixture_saved(layer);
    slice s;
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 50);
    const uint64_t running = digest_layer(SBN_DIGEST_START, layer, NULL);
    for (int i = 0; i < 2; ++i) {
        sbn_shard none = s.shard;
        cl_event event = NULL;
        sbn_result result = SBN_RESULT_INIT;
        uint64_t count = 77;
        none.shape[i ? 2 : 0] = 0;
        none.event = &event;
        none.wait_list = &event; /* of no events: OpenCL alone would refuse the pair */
        none.x.mem = none.y.mem = i ? NULL : none.x.mem;
        slice_reset(&s);
        RIGHT(sbn_forward(layer, &none, saved, 0, &result));
        must(sbn_saved_stats(saved, NULL, NULL, &count), "sbn_saved_stats");
        tap_ok(result.count == 0 && count == 0 && result.synchronised, "it has no values");
        tap_ok(digest_layer(SBN_DIGEST_START, layer, NULL) == running && slice_untouched(&s),
               "nothing has changed");
        tap_ok(event && clWaitForEvents(1, &event) == CL_SUCCESS, "its event completes");
        clReleaseEvent(event);
        RIGHT(sbn_backward(layer, &none, saved, 0, &result));
        tap_ok(event && clWaitForEvents(1, &event) == CL_SUCCESS, "its event completes");
        clReleaseEvent(event);
        tap_ok(holds(&s, &s.shard.weight_grad, 0.0f) && holds(&s, &s.shard.bias_grad, 0.0f),
               "its gradients are zeros");
        slice_reset(&s);
        must(sbn_backward(layer, &none, saved, SBN_ACCUMULATE_GRADIENTS, NULL), "sbn_backward");
        tap_ok(slice_untouched(&s), "zeros are added where gradients accumulate");
        must(clReleaseEvent(event), "clReleaseEvent");
        RIGHT(sbn_evaluate(layer, &none));
        must(clReleaseEvent(event), "clReleaseEvent");
    }
    slice_close(&s);
    fixture_end(layer, saved);
}

static int evaluate_untracked(test_rank *m)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = CHANNELS;
    config.track_running_stats = 0;
    sbn_batchnorm *layer = fixture_layer_of(m->group, &config);
    rank_says(m, sbn_evaluate(layer, m->shards));
    must(slice_untouched(&m->slices[0]), "evaluation writes y");
    must(sbn_batchnorm_destroy(layer), "sbn_batchnorm_destroy");
    return m->status;
}

static void checks(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    check_empty(group);
    ranks_same_bits(&device, evaluate_untracked, "evaluation by batch statistics");
    sbn_group_destroy(group);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
