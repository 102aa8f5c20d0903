/* A model of two layers: added, set, read, reset, moved to three replicas and back. */
#include <string.h>

#include "faults/model.h"
#include "faults/scenario.h"
#include "model/model.h"
#include "support/wraps.h"

faulty_model under;

void model_begin(void)
{
    memset(&under, 0, sizeof under);
    stand_begin(0, 1);
    stand_begin(1, REPLICAS);
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        config.name = model_names[i];
        config.channels = model_channels[i];
        must(stand_layer_of(i, at.groups[1], config), "sbn_batchnorm_create");
        for (size_t r = 0; r < REPLICAS; ++r)
            under.parameters[i][r] =
                (sbn_parameters){sizeof(sbn_parameters),
                                 buffer_of(&at.device, at.queues[r], NULL, model_channels[i]),
                                 buffer_of(&at.device, at.queues[r], NULL, model_channels[i])};
    }
}

/* The layers of network_f16.safetensors that have running statistics. */
const char *const model_names[MODEL_LAYERS] = {"1", "4.1"};
const size_t model_channels[MODEL_LAYERS] = {4, 6};

void model_end(void)
{
    sbn_model_destroy(under.model);
    wraps_pause();
    for (size_t i = 0; i < MODEL_LAYERS; ++i)
        for (size_t r = 0; r < REPLICAS; ++r) {
            clReleaseMemObject(under.parameters[i][r].weight.mem);
            clReleaseMemObject(under.parameters[i][r].bias.mem);
        }
    wraps_resume();
    stand_end();
}

int model_make(void)
{
    int status = under.model ? SBN_SUCCESS : sbn_model_create(&under.model);
    for (size_t i = sbn_model_size(under.model); i < MODEL_LAYERS && !status; ++i)
        status = sbn_model_add(under.model, model_names[i], at.layers[i], under.parameters[i]);
    return status;
}

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *to)
{
    (void)context, (void)name;
    *to = under.parameters[layer == at.layers[1]][replica];
    return SBN_SUCCESS;
}

static int set(void)
{
    const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {-1, 0.5f, 0, 7, 8, 9};
    return sbn_model_set_parameters(under.model, 1, weight, bias);
}

static int get(void)
{
    return sbn_model_parameters(under.model, 1, under.read[0], under.read[1]);
}

static int move(size_t to)
{
    const int was = sbn_batchnorm_group(at.layers[0]) == at.groups[to];
    under.undefined = 0;
    const int status = sbn_model_set_group(under.model, at.groups[to], replicate, NULL);
    /* An error of the last copies leaves all layers in the new group. */
    under.undefined = status && !was && sbn_batchnorm_group(at.layers[0]) == at.groups[to];
    return status;
}

static int set_and_get(int number)
{
    switch (number) {
    case 0: return model_make();
    case 1: return set();
    case 2: return get();
    case 3: return sbn_model_set_frozen(under.model, 1);
    case 4: return sbn_model_reset_running_stats(under.model);
    default: return sbn_model_reset_parameters(under.model);
    }
}

static int move_about(int number)
{
    switch (number) {
    case 0: return model_make();
    case 1: return move(0);
    case 2: return sbn_model_set_training(under.model, 0);
    default: return move(1);
    }
}

/* Groups, and whether the model knows the buffers of each layer for all replicas. */
static uint64_t places(uint64_t digest)
{
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        const size_t replicas = sbn_group_replicas(sbn_batchnorm_group(at.layers[i]));
        for (size_t r = 0; i < sbn_model_size(under.model) && r < replicas; ++r)
            if (under.model->entries[i].replicas != replicas ||
                under.model->entries[i].parameters[r].weight.mem !=
                    under.parameters[i][r].weight.mem)
                tap_ok(0, "layer %zu has another group's buffers", i);
        const int flags[] = {sbn_batchnorm_group(at.layers[i]) == at.groups[1],
                             sbn_batchnorm_is_training(at.layers[i]),
                             sbn_batchnorm_is_frozen(at.layers[i])};
        digest = sbn__digest(digest, flags, sizeof flags);
    }
    return digest;
}

uint64_t model_values(uint64_t digest, size_t replicas)
{
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        for (size_t r = 0; r < replicas; ++r) {
            const slice s = {.queue = at.queues[r]};
            const sbn_parameters *p = &under.parameters[i][r];
            digest = digest_buffer(digest, &s, &p->weight, model_channels[i]);
            digest = digest_buffer(digest, &s, &p->bias, model_channels[i]);
        }
        digest = digest_layer(digest, at.layers[i], NULL);
    }
    return digest;
}

static uint64_t result(void)
{
    const uint64_t digest = places(model_values(SBN_DIGEST_START, REPLICAS));
    return sbn__digest(digest, under.read, sizeof under.read);
}

/* Copying from and to devices may end in the middle. */
static uint64_t kept_setting(int number)
{
    return number == 0 || number == 3 || number == 4 ? result() : places(SBN_DIGEST_START);
}

static uint64_t kept_moving(int number)
{
    (void)number;
    return under.undefined ? 0 : places(SBN_DIGEST_START);
}

/* A table that is released is waited for. */
static const int survived_moving[] = {WRAP_FINISH, SURVIVED_RELEASES, -1};

const scenario model_scenarios[] = {
    {.name = "model",
     .begin = model_begin,
     .step = set_and_get,
     .steps = 6,
     .kept = kept_setting,
     .result = result,
     .end = model_end},
    {.name = "model moved",
     .begin = model_begin,
     .step = move_about,
     .steps = 4,
     .kept = kept_moving,
     .result = result,
     .end = model_end,
     .survived = survived_moving},
    {.name = NULL},
};
