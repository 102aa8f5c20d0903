/* Models, checkpoints, data-parallel training, sampling. */
#include "fuzz/calls.h"
#include "support/vectors.h"

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

void call_model_make(fuzz_input *in)
{
    sbn_model *model = NULL;
    if (fuzz_byte(in) % 4 == 0)
        keep(MODEL, sbn_model_create(&model), model);
    model = any_handle(in, MODEL);
    const char *name = any_name(in);
    sbn_batchnorm *layer = any_handle(in, LAYER);
    judged(sbn_model_add(model, name, layer, any_parameters(in)));
}

void call_model_call(fuzz_input *in)
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

void call_model_file(fuzz_input *in)
{
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    sbn_checkpoint *checkpoint = NULL;
    sbn_model *model = any_handle(in, MODEL);
    config.size = any_size(in, sizeof config) == sizeof config ? sizeof config : 8;
    config.strict = any_number(in, 0);
    switch (fuzz_byte(in) % 4) {
    case 0:
        judged(sbn_model_save(model, fuzz_path(), fuzz_byte(in) % 2 ? fuzz_path() : NULL));
        break;
    case 1: judged(sbn_model_load(model, fuzz_path(), &config)); break;
    case 2: judged(sbn_model_load(model, data_path("network_f16.safetensors"), &config)); break;
    default: keep(CHECKPOINT, sbn_checkpoint_create(fuzz_path(), &checkpoint), checkpoint);
    }
}

void call_checkpoint_ask(fuzz_input *in)
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

void call_parallel_create(fuzz_input *in)
{
    sbn_data_parallel *parallel = NULL;
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_group *group = any_handle(in, GROUP);
    const size_t size = any_size(in, sizeof config);
    config.bucket_bytes = (size_t)any_number(in, 8192);
    const void *given = structs_of_size(&config, 1, sizeof config, size);
    keep(PARALLEL, sbn_data_parallel_create(group, given, &parallel), parallel);
    fuzz_must(sbn_data_parallel_replicas(parallel) <= REPLICAS &&
              sbn_data_parallel_first(parallel) == 0);
}

void call_exchange_begin(fuzz_input *in)
{
    sbn_exchange *exchange = NULL;
    sbn_data_parallel *parallel = any_handle(in, PARALLEL);
    const sbn_tensors *tensors = any_tensors(in);
    const size_t *counts = fuzz_byte(in) < 250 ? tensor_counts : NULL;
    const size_t root = (size_t)any_number(in, 0);
    const int status = fuzz_byte(in) % 2 ? sbn_broadcast_begin(parallel, counts, TENSORS, root,
                                                               tensors, &exchange)
                                         : sbn_average_gradients_begin(parallel, counts, TENSORS,
                                                                       tensors, &exchange);
    keep(EXCHANGE, status, exchange);
}

void call_exchange_go_on(fuzz_input *in)
{
    int ready;
    sbn_exchange *exchange = any_handle(in, EXCHANGE);
    judged(fuzz_byte(in) % 2 ? sbn_exchange_end(exchange)
                             : sbn_exchange_progress(exchange, &ready));
}

void call_sample(fuzz_input *in)
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
