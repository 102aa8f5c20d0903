/* Groups, layers and passes. */
#include "fuzz/calls.h"

/* --- groups ------------------------------------------------------------------------------ */

void call_group_create(fuzz_input *in)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_group *group = NULL;
    const size_t size = any_size(in, sizeof config);
    config.queues = any_queues(in, &config.replicas);
    config.timeout = any_number(in, 10);
    config.on_timeout = (sbn_timeout_action)any_number(in, SBN_TIMEOUT_FAIL);
    config.form = (sbn_kernel_form)any_number(in, SBN_FORM_AUTO);
    /* Options that would compile a program of their own take too long. */
    config.build_options = any_number(in, 0) ? "-cl-fast-relaxed-math" : NULL;
    if (config.form != SBN_FORM_AUTO && config.form != SBN_FORM_CPU)
        config.form = (sbn_kernel_form)7;
    const void *given = structs_of_size(&config, 1, sizeof config, size);
    keep(GROUP, sbn_group_create(any_number(in, 0) ? NULL : given, &group), group);
}

void call_group_split(fuzz_input *in)
{
    sbn_group *group = any_handle(in, GROUP), *parts[REPLICAS] = {NULL};
    const int colours[REPLICAS] = {any_number(in, 0), any_number(in, 1), any_number(in, -1)};
    if (!judged(sbn_group_split(group, any_number(in, 0) ? NULL : colours, parts)))
        for (size_t r = 0; r < sbn_group_replicas(group); ++r)
            if (parts[r])
                handle_made(GROUP, parts[r]);
}

void call_group_ask(fuzz_input *in)
{
    const char *reason = NULL;
    const sbn_group *group = any_handle(in, GROUP);
    /* It returns the group's state, which is no error of the call. */
    sbn_group_status(group, &reason);
    fuzz_must(reason && sbn_group_replicas(group) <= REPLICAS);
    fuzz_must(sbn_group_rank(group) == 0 && sbn_group_world_size(group) <= 1);
}

void call_group_abort(fuzz_input *in)
{
    if (fuzz_byte(in) < 32)
        judged(sbn_group_abort(any_handle(in, GROUP)));
}

/* --- layers -------------------------------------------------------------------------------- */

void call_layer_create(fuzz_input *in)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer = NULL;
    sbn_group *group = any_handle(in, GROUP);
    const size_t size = any_size(in, sizeof config);
    config.name = any_name(in);
    config.channels = any_number(in, CHANNELS) == CHANNELS ? CHANNELS : (size_t)fuzz_word(in) << 8;
    config.layout = (sbn_layout)any_number(in, fuzz_byte(in) % 2);
    config.eps = any_number(in, 1) / 1024.0;
    config.eps_mode = (sbn_eps_mode)any_number(in, SBN_EPS_ADD);
    config.momentum = any_number(in, 1) / 4.0;
    config.average = (sbn_average)any_number(in, SBN_AVERAGE_MOMENTUM);
    config.affine = any_number(in, 1);
    config.track_running_stats = any_number(in, 1);
    config.dimensions = any_number(in, 0);
    config.type = (sbn_type)any_number(in, 0);
    /* Of a channel count that a device could hold, working memory alone would fill it. */
    if (config.channels > CHANNELS && config.channels < (size_t)1 << 36)
        config.channels = 0;
    const void *given = structs_of_size(&config, 1, sizeof config, size);
    keep(LAYER, sbn_batchnorm_create(group, given, &layer), layer);
}

void call_layer_set(fuzz_input *in)
{
    const float values[CHANNELS] = {1, -2, 0, 4};
    const int64_t batches = any_number(in, 3);
    sbn_batchnorm *layer = any_handle(in, LAYER);
    switch (fuzz_byte(in) % 5) {
    case 0: judged(sbn_batchnorm_set_training(layer, any_number(in, 0))); break;
    case 1: judged(sbn_batchnorm_set_frozen(layer, any_number(in, 1))); break;
    case 2: judged(sbn_batchnorm_set_group(layer, any_handle(in, GROUP))); break;
    case 3: judged(sbn_batchnorm_set_running_stats(layer, values, NULL, &batches)); break;
    default: judged(sbn_batchnorm_reset_running_stats(layer));
    }
}

void call_layer_ask(fuzz_input *in)
{
    float mean[CHANNELS], var[CHANNELS];
    static unsigned char stored[1024];
    static size_t size = sizeof stored;
    int64_t batches;
    uint64_t count;
    const sbn_batchnorm *layer = any_handle(in, LAYER);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.size = any_size(in, sizeof config) <= sizeof config ? sizeof config : 0;
    judged(sbn_batchnorm_settings(layer, &config));
    judged(sbn_batchnorm_running_stats(layer, mean, var, &batches));
    sbn_saved *saved = any_handle(in, SAVED);
    judged(sbn_saved_stats(saved, mean, NULL, &count));
    judged(sbn_saved_store(saved, stored, sizeof stored, &size));
    /* Of this one, or of another layer before. */
    judged(sbn_saved_load(saved, stored, size));
    sbn_batchnorm_group(layer);
    fuzz_must(sbn_batchnorm_is_training(layer) <= 1 && sbn_batchnorm_is_frozen(layer) <= 1);
}

void call_saved_create(fuzz_input *in)
{
    sbn_saved *saved = NULL;
    keep(SAVED, sbn_saved_create(any_handle(in, LAYER), &saved), saved);
}

/* --- passes -------------------------------------------------------------------------------- */

void call_pass_at_once(fuzz_input *in)
{
    sbn_result result = SBN_RESULT_INIT;
    sbn_batchnorm *layer = any_handle(in, LAYER);
    sbn_saved *saved = any_handle(in, SAVED);
    const unsigned flags = (unsigned)any_number(in, fuzz_byte(in) % 8);
    const sbn_shard *shards = any_shards(in);
    result.size = any_size(in, sizeof result) == sizeof result ? sizeof result : 0;
    switch (fuzz_byte(in) % 5) {
    case 0: judged(sbn_forward(layer, shards, saved, flags & 1u, &result)); break;
    case 1: judged(sbn_backward(layer, shards, saved, flags & 6u, &result)); break;
    case 2: judged(sbn_evaluate(layer, shards)); break;
    case 3: judged(sbn_recompute(layer, shards, saved)); break;
    default: judged(sbn_batchnorm_fold(layer, any_foldings(in)));
    }
}

void call_pass_begin(fuzz_input *in)
{
    sbn_pass *pass = NULL;
    sbn_batchnorm *layer = any_handle(in, LAYER);
    sbn_saved *saved = any_handle(in, SAVED);
    const unsigned flags = (unsigned)any_number(in, 0);
    const sbn_shard *shards = any_shards(in);
    const int status = fuzz_byte(in) % 2 ? sbn_forward_begin(layer, shards, saved, flags, &pass)
                                         : sbn_backward_begin(layer, shards, saved, flags, &pass);
    keep(PASS, status, pass);
}

void call_pass_branches(fuzz_input *in)
{
    static sbn_branch branches[REPLICAS];
    sbn_result results[REPLICAS] = {SBN_RESULT_INIT, SBN_RESULT_INIT, SBN_RESULT_INIT};
    sbn_pass *pass = NULL;
    const size_t count = fuzz_byte(in) % (REPLICAS + 1u);
    const sbn_shard *shards = any_shards(in);
    for (size_t i = 0; i < REPLICAS; ++i)
        branches[i] = (sbn_branch){sizeof(sbn_branch), any_handle(in, LAYER), shards,
                                   any_handle(in, SAVED), (unsigned)any_number(in, 0)};
    switch (fuzz_byte(in) % 4) {
    case 0: judged(sbn_forward_branches(branches, count, results)); break;
    case 1: judged(sbn_backward_branches(branches, count, NULL)); break;
    case 2: keep(PASS, sbn_forward_branches_begin(branches, count, &pass), pass); break;
    default: keep(PASS, sbn_backward_branches_begin(branches, count, &pass), pass);
    }
}

void call_pass_go_on(fuzz_input *in)
{
    int ready;
    sbn_pass *pass = any_handle(in, PASS);
    judged(fuzz_byte(in) % 2 ? sbn_pass_end(pass, NULL) : sbn_pass_progress(pass, &ready));
}
