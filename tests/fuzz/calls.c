/*
 * Any bytes as a sequence of calls of the public API, with arguments right and wrong: each byte is a
 * call, those behind it its arguments (arguments.h). An error has a sentence, a success has none, and
 * when all has been destroyed nothing is left open.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "fuzz/arguments.h"
#include "support/vectors.h"

enum { MOST_CALLS = 48 };

static int opened;
static const char *path;

static int judged(int status)
{
    fuzz_must(status <= 0 && !status == !*sbn_last_error());
    fuzz_must(*sbn_strerror(status) && *sbn_status_name(status));
    return status;
}

/* A handle comes with success alone. */
static void keep(handle_kind kind, int status, void *handle)
{
    fuzz_must(!judged(status) == (handle != NULL));
    if (handle)
        handle_made(kind, handle);
}

/* --- groups ------------------------------------------------------------------------------ */

static void group_create(fuzz_input *in)
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
    const void *given = struct_of_size(&config, sizeof config, size);
    keep(GROUP, sbn_group_create(any_number(in, 0) ? NULL : given, &group), group);
}

static void group_split(fuzz_input *in)
{
    sbn_group *group = any_handle(in, GROUP), *parts[REPLICAS] = {NULL};
    const int colours[REPLICAS] = {any_number(in, 0), any_number(in, 1), any_number(in, -1)};
    if (!judged(sbn_group_split(group, any_number(in, 0) ? NULL : colours, parts)))
        for (size_t r = 0; r < sbn_group_replicas(group); ++r)
            if (parts[r])
                handle_made(GROUP, parts[r]);
}

static void group_ask(fuzz_input *in)
{
    const char *reason = NULL;
    const sbn_group *group = any_handle(in, GROUP);
    /* What it says is the group's state: no error of the call. */
    sbn_group_status(group, &reason);
    fuzz_must(reason && sbn_group_replicas(group) <= REPLICAS);
    fuzz_must(sbn_group_rank(group) == 0 && sbn_group_world_size(group) <= 1);
}

static void group_abort(fuzz_input *in)
{
    if (fuzz_byte(in) < 32)
        judged(sbn_group_abort(any_handle(in, GROUP)));
}

/* --- layers -------------------------------------------------------------------------------- */

static void layer_create(fuzz_input *in)
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
    /* Of a channel count that a device could hold, working memory alone would fill it. */
    if (config.channels > CHANNELS && config.channels < (size_t)1 << 36)
        config.channels = 0;
    const void *given = struct_of_size(&config, sizeof config, size);
    keep(LAYER, sbn_batchnorm_create(group, given, &layer), layer);
}

static void layer_set(fuzz_input *in)
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

static void layer_ask(fuzz_input *in)
{
    float mean[CHANNELS], var[CHANNELS];
    int64_t batches;
    uint64_t count;
    const sbn_batchnorm *layer = any_handle(in, LAYER);
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.size = any_size(in, sizeof config) <= sizeof config ? sizeof config : 0;
    judged(sbn_batchnorm_settings(layer, &config));
    judged(sbn_batchnorm_running_stats(layer, mean, var, &batches));
    judged(sbn_saved_stats(any_handle(in, SAVED), mean, NULL, &count));
    sbn_batchnorm_group(layer);
    fuzz_must(sbn_batchnorm_is_training(layer) <= 1 && sbn_batchnorm_is_frozen(layer) <= 1);
}

static void saved_create(fuzz_input *in)
{
    sbn_saved *saved = NULL;
    keep(SAVED, sbn_saved_create(any_handle(in, LAYER), &saved), saved);
}

/* --- passes -------------------------------------------------------------------------------- */

static void pass_at_once(fuzz_input *in)
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

static void pass_begin(fuzz_input *in)
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

static void pass_branches(fuzz_input *in)
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

static void pass_go_on(fuzz_input *in)
{
    int ready;
    sbn_pass *pass = any_handle(in, PASS);
    judged(fuzz_byte(in) % 2 ? sbn_pass_end(pass, NULL) : sbn_pass_progress(pass, &ready));
}

/* --- models -------------------------------------------------------------------------------- */

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *parameters)
{
    (void)name, (void)layer, (void)replica;
    fuzz_input *in = context;
    parameters->weight = any_buffer(in);
    parameters->bias = any_buffer(in);
    return fuzz_byte(in) >= 250 ? -1 : 0;
}

static void model_make(fuzz_input *in)
{
    sbn_model *model = NULL;
    if (fuzz_byte(in) % 4 == 0)
        keep(MODEL, sbn_model_create(&model), model);
    model = any_handle(in, MODEL);
    const char *name = any_name(in);
    sbn_batchnorm *layer = any_handle(in, LAYER);
    judged(sbn_model_add(model, name, layer, any_parameters(in)));
}

static void model_call(fuzz_input *in)
{
    float values[2][CHANNELS] = {{1, 2, 3, 4}, {5, 6, 7, 8}};
    sbn_model *model = any_handle(in, MODEL);
    const size_t index = (size_t)any_number(in, 0);
    size_t found;
    sbn_model_layer(model, index);
    fuzz_must((sbn_model_name(model, index) != NULL) == (index < sbn_model_size(model)));
    sbn_model_find(model, any_name(in), &found);
    switch (fuzz_byte(in) % 8) {
    case 0: judged(sbn_model_set_training(model, any_number(in, 1))); break;
    case 1: judged(sbn_model_set_frozen(model, any_number(in, 1))); break;
    case 2: judged(sbn_model_parameters(model, index, values[0], values[1])); break;
    case 3: judged(sbn_model_set_parameters(model, index, values[0], values[1])); break;
    case 4: judged(sbn_model_reset_running_stats(model)); break;
    case 5: judged(sbn_model_reset_parameters(model)); break;
    case 6: judged(sbn_model_set_group(model, any_handle(in, GROUP), replicate, in)); break;
    default: judged(sbn_model_set_group(model, any_handle(in, GROUP), NULL, NULL));
    }
}

static void model_file(fuzz_input *in)
{
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    sbn_checkpoint *checkpoint = NULL;
    sbn_model *model = any_handle(in, MODEL);
    config.size = any_size(in, sizeof config) == sizeof config ? sizeof config : 8;
    config.strict = any_number(in, 0);
    switch (fuzz_byte(in) % 4) {
    case 0: judged(sbn_model_save(model, path, fuzz_byte(in) % 2 ? path : NULL)); break;
    case 1: judged(sbn_model_load(model, path, &config)); break;
    case 2: judged(sbn_model_load(model, data_path("network_f16.safetensors"), &config)); break;
    default: keep(CHECKPOINT, sbn_checkpoint_create(path, &checkpoint), checkpoint);
    }
}

static void checkpoint_ask(fuzz_input *in)
{
    float values[4][CHANNELS];
    int64_t batches;
    const sbn_checkpoint *checkpoint = any_handle(in, CHECKPOINT);
    const size_t index = (size_t)any_number(in, 0);
    sbn_layer_info info = SBN_LAYER_INFO_INIT;
    if (!judged(sbn_checkpoint_layer(checkpoint, index, &info)) && info.channels <= CHANNELS)
        judged(sbn_checkpoint_read(checkpoint, index, values[0], values[1], values[2], values[3],
                                   &batches));
    fuzz_must(sbn_checkpoint_size(checkpoint) < 16);
}

/* --- data-parallel training ---------------------------------------------------------------- */

static void parallel_create(fuzz_input *in)
{
    sbn_data_parallel *parallel = NULL;
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_group *group = any_handle(in, GROUP);
    const size_t size = any_size(in, sizeof config);
    config.bucket_bytes = (size_t)any_number(in, 8192);
    const void *given = struct_of_size(&config, sizeof config, size);
    keep(PARALLEL, sbn_data_parallel_create(group, given, &parallel), parallel);
    fuzz_must(sbn_data_parallel_replicas(parallel) <= REPLICAS &&
              sbn_data_parallel_first(parallel) == 0);
}

static void exchange_begin(fuzz_input *in)
{
    sbn_exchange *exchange = NULL;
    sbn_data_parallel *parallel = any_handle(in, PARALLEL);
    const sbn_tensors *tensors = any_tensors(in);
    const size_t *counts = fuzz_byte(in) < 250 ? tensor_counts() : NULL;
    const size_t root = (size_t)any_number(in, 0);
    const int status = fuzz_byte(in) % 2 ? sbn_broadcast_begin(parallel, counts, TENSORS, root,
                                                               tensors, &exchange)
                                         : sbn_average_gradients_begin(parallel, counts, TENSORS,
                                                                       tensors, &exchange);
    keep(EXCHANGE, status, exchange);
}

static void exchange_go_on(fuzz_input *in)
{
    int ready;
    sbn_exchange *exchange = any_handle(in, EXCHANGE);
    judged(fuzz_byte(in) % 2 ? sbn_exchange_end(exchange)
                             : sbn_exchange_progress(exchange, &ready));
}

static void sample(fuzz_input *in)
{
    sbn_sampler sampler = SBN_SAMPLER_INIT;
    uint64_t length, samples[8];
    sampler.size = any_size(in, sizeof sampler) == sizeof sampler ? sizeof sampler : 8;
    sampler.samples = (uint64_t)fuzz_word(in) << fuzz_byte(in) % 34;
    sampler.replicas = fuzz_word(in) >> fuzz_byte(in) % 32;
    sampler.replica = fuzz_word(in) >> fuzz_byte(in) % 32;
    sampler.seed = fuzz_word(in);
    sampler.shuffle = fuzz_byte(in) % 2;
    sampler.drop_last = fuzz_byte(in) % 2;
    if (judged(sbn_sampler_length(&sampler, &length)))
        return;
    const uint64_t first = fuzz_byte(in) % 2 ? length - (length < 8 ? length : 8) : fuzz_word(in);
    if (!judged(sbn_sampler_take(&sampler, first, 8, samples)))
        for (size_t i = 0; i < 8; ++i)
            fuzz_must(samples[i] < sampler.samples);
}

/* --- destroying ---------------------------------------------------------------------------- */

static int destroy_handle(handle_kind kind, void *handle)
{
    switch (kind) {
    case GROUP: return sbn_group_destroy(handle);
    case LAYER: return sbn_batchnorm_destroy(handle);
    case SAVED: return sbn_saved_destroy(handle);
    case PASS: return sbn_pass_end(handle, NULL);
    case MODEL: return sbn_model_destroy(handle);
    case CHECKPOINT: return sbn_checkpoint_destroy(handle);
    case PARALLEL: return sbn_data_parallel_destroy(handle);
    default: return sbn_exchange_end(handle);
    }
}

static void destroy(fuzz_input *in)
{
    const handle_kind kind = (handle_kind)(fuzz_byte(in) % HANDLE_KINDS);
    fuzz_must(destroy_handle(kind, any_handle(in, kind)) <= 0);
}

static void destroy_all(void)
{
    static const handle_kind order[] = {PASS,  EXCHANGE, CHECKPOINT, MODEL,
                                        SAVED, LAYER,    PARALLEL,   GROUP};
    for (size_t i = 0; i < HANDLE_KINDS; ++i)
        for (size_t k = handles_made(order[i]); k-- > 0;)
            destroy_handle(order[i], handle_living(order[i], k));
    handles_forget();
}

static void (*const calls[])(fuzz_input *in) = {
    group_create,   group_split,  group_ask,    group_abort,    layer_create,    layer_set,
    layer_ask,      saved_create, pass_at_once, pass_begin,     pass_branches,   pass_go_on,
    model_make,     model_call,   model_file,   checkpoint_ask, parallel_create, exchange_begin,
    exchange_go_on, sample,       destroy,
};

static void remove_file(void)
{
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fuzz_input in = {bytes, bytes + size};
    if (!opened) {
        arguments_open();
        path = fuzz_path();
        atexit(remove_file);
        opened = 1;
    }
    const long before = sbn__handles_open();
    for (int i = 0; i < MOST_CALLS && in.at < in.end; ++i)
        calls[fuzz_byte(&in) % (sizeof calls / sizeof *calls)](&in);
    destroy_all();
    arguments_finish();
    fuzz_must(sbn__handles_open() == before);
    return 0;
}
