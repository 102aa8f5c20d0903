#include "faults/stand.h"

#include <string.h>

stand at;

enum { SETS = 2 + LAYERS };
static slice *const sets[SETS] = {at.slices, at.huge, at.more[0], at.more[1], at.more[2]};

int stand_open(void)
{
    fixture_one_thread();
    if (fixture_open(&at.device))
        return 1;
    for (size_t r = 0; r < REPLICAS; ++r) {
        at.queues[r] = fixture_queue(&at.device, r == 1);
        for (int set = 0; set < SETS; ++set)
            slice_open(&sets[set][r], &at.device, at.queues[r], SAMPLES * r, SAMPLES, CHANNELS,
                       PLANE, 4);
        buffer_fill(&at.huge[r], &at.huge[r].shard.x, PLANE, 3e30f);
        buffer_fill(&at.huge[r], &at.huge[r].shard.dy, PLANE, 3e30f);
    }
    return 0;
}

void stand_close(void)
{
    for (int set = 0; set < SETS; ++set)
        slices_close(sets[set], REPLICAS);
    for (size_t r = 0; r < REPLICAS; ++r)
        clReleaseCommandQueue(at.queues[r]);
    fixture_close(&at.device);
}

int stand_group(size_t i, sbn_group_config settings)
{
    const cl_command_queue *queues = settings.queues ? settings.queues : at.queues;
    return at.groups[i] ? SBN_SUCCESS : fixture_make_group(&at.groups[i], queues, settings);
}

int stand_layer(size_t i, sbn_group *group, sbn_batchnorm_config settings)
{
    if (!settings.channels)
        settings.channels = CHANNELS;
    if (!settings.name)
        settings.name = "layer";
    settings.momentum = 0.25;
    return at.layers[i] ? SBN_SUCCESS : fixture_make_layer(&at.layers[i], group, settings);
}

int stand_saved(size_t i, sbn_batchnorm *layer)
{
    return at.saved[i] ? SBN_SUCCESS : sbn_saved_create(layer, &at.saved[i]);
}

int stand_both(size_t i, sbn_group *group)
{
    const int status = STAND_LAYER(i, group, .channels = CHANNELS);
    return status ? status : stand_saved(i, at.layers[i]);
}

void stand_begin(size_t i, size_t replicas)
{
    must(STAND_GROUP(i, .replicas = replicas), "sbn_group_create");
}

void stand_end(void)
{
    events_release(at.events, REPLICAS);
    for (size_t i = 0; i < LAYERS; ++i)
        sbn_saved_destroy(at.saved[i]);
    for (size_t i = 0; i < LAYERS; ++i)
        sbn_batchnorm_destroy(at.layers[i]);
    for (size_t i = GROUPS; i-- > 0;)
        sbn_group_destroy(at.groups[i]);
    memset(at.groups, 0, sizeof at.groups);
    memset(at.layers, 0, sizeof at.layers);
    memset(at.saved, 0, sizeof at.saved);
}

void stand_finish(void)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        must(clFinish(at.queues[r]), "clFinish");
}

uint64_t stand_outputs(uint64_t digest, const slice *slices, size_t replicas)
{
    stand_finish();
    return digest_slices(digest, slices, replicas);
}

uint64_t stand_running(uint64_t digest, const sbn_batchnorm *layer)
{
    return layer ? digest_layer(digest, layer, NULL) : digest;
}

int stand_usable(const sbn_group *group)
{
    return !group || sbn_group_status(group, NULL) == SBN_SUCCESS;
}
