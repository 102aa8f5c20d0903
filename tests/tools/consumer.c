/*
 * A program that starts from every _INIT macro, in C or C++: tests/tools/consumers.sh compiles it as
 * either. With RUN it also calls what needs no device; its result is then the line of what failed.
 */
#include <syncbn.h>

sbn_buffer buffer = SBN_BUFFER_INIT;
sbn_shard shards[2] = {SBN_SHARD_INIT, SBN_SHARD_INIT};
sbn_group_config of_group = SBN_GROUP_CONFIG_INIT;
sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
sbn_branch branch = SBN_BRANCH_INIT;
sbn_folding folding = SBN_FOLDING_INIT;
sbn_parameters parameters = SBN_PARAMETERS_INIT;
sbn_load_config of_load = SBN_LOAD_CONFIG_INIT;
sbn_layer_info info = SBN_LAYER_INFO_INIT;
sbn_data_parallel_config of_parallel = SBN_DATA_PARALLEL_CONFIG_INIT;
sbn_tensors tensors = SBN_TENSORS_INIT;
sbn_sampler sampler = SBN_SAMPLER_INIT;
sbn_transport transport = SBN_TRANSPORT_INIT;

#define GOOD(condition) \
    do { \
        if (!(condition)) \
            return __LINE__ % 256; \
    } while (0)

/* A group without a device: a rank that only takes part, alone in its hub. */
int main(void)
{
#ifdef RUN
    sbn_hub *hub;
    sbn_group *group;
    sbn_batchnorm *layer;
    uint64_t length = 0;
    const char *reason = NULL;
    GOOD(sbn_hub_create(1, &hub) == SBN_SUCCESS);
    GOOD(sbn_hub_transport(hub, 0, &transport) == SBN_SUCCESS);
    of_group.transport = &transport;
    GOOD(sbn_group_create(&of_group, &group) == SBN_SUCCESS);
    GOOD(sbn_group_status(group, &reason) == SBN_SUCCESS && *reason == '\0');
    GOOD(sbn_batchnorm_create(group, &of_layer, &layer) == SBN_INVALID_ARGUMENT);
    of_layer.channels = 5;
    GOOD(sbn_batchnorm_create(group, &of_layer, &layer) == SBN_SUCCESS);
    of_layer.channels = 0;
    GOOD(sbn_batchnorm_settings(layer, &of_layer) == SBN_SUCCESS && of_layer.channels == 5);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    sbn_hub_destroy(hub);
    sampler.samples = 7;
    GOOD(sbn_sampler_length(&sampler, &length) == SBN_SUCCESS && length == 7);
#endif
    GOOD(shards[1].size == sizeof(sbn_shard) && results[1].size == sizeof(sbn_result));
    return 0;
}
