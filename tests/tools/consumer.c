/*
 * A program that starts from every _INIT macro, in C or C++: tests/tools/consumers.sh compiles it as
 * either. With RUN it also calls what needs no device; its result is then the line of what failed.
 */
#include <syncbn.h>

typedef struct everything {
    sbn_buffer buffer;
    sbn_shard shards[2];
    sbn_group_config group;
    sbn_batchnorm_config layer;
    sbn_result results[2];
    sbn_branch branch;
    sbn_folding folding;
    sbn_parameters parameters;
    sbn_load_config load;
    sbn_layer_info info;
    sbn_data_parallel_config parallel;
    sbn_tensors tensors;
    sbn_sampler sampler;
    sbn_transport transport;
} everything;

static everything all = {SBN_BUFFER_INIT,
                         {SBN_SHARD_INIT, SBN_SHARD_INIT},
                         SBN_GROUP_CONFIG_INIT,
                         SBN_BATCHNORM_CONFIG_INIT,
                         {SBN_RESULT_INIT, SBN_RESULT_INIT},
                         SBN_BRANCH_INIT,
                         SBN_FOLDING_INIT,
                         SBN_PARAMETERS_INIT,
                         SBN_LOAD_CONFIG_INIT,
                         SBN_LAYER_INFO_INIT,
                         SBN_DATA_PARALLEL_CONFIG_INIT,
                         SBN_TENSORS_INIT,
                         SBN_SAMPLER_INIT,
                         SBN_TRANSPORT_INIT};

#ifdef RUN
#define GOOD(condition) \
    do { \
        if (!(condition)) \
            return __LINE__ % 256; \
    } while (0)
#else
#define GOOD(condition) (void)(condition)
#endif

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
    GOOD(sbn_hub_transport(hub, 0, &all.transport) == SBN_SUCCESS);
    all.group.transport = &all.transport;
    GOOD(sbn_group_create(&all.group, &group) == SBN_SUCCESS);
    GOOD(sbn_group_status(group, &reason) == SBN_SUCCESS && *reason == '\0');
    GOOD(sbn_batchnorm_create(group, &all.layer, &layer) == SBN_INVALID_ARGUMENT);
    all.layer.channels = 5;
    GOOD(sbn_batchnorm_create(group, &all.layer, &layer) == SBN_SUCCESS);
    all.layer.channels = 0;
    GOOD(sbn_batchnorm_settings(layer, &all.layer) == SBN_SUCCESS && all.layer.channels == 5);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    sbn_hub_destroy(hub);
    all.sampler.samples = 7;
    GOOD(sbn_sampler_length(&all.sampler, &length) == SBN_SUCCESS && length == 7);
#endif
    GOOD(all.shards[1].size == sizeof(sbn_shard) && all.results[1].size == sizeof(sbn_result));
    return 0;
}
