/* A layer generation to another group. Its saved statistics follow when they are next used. */
#include "layer/batchnorm.h"
#include "base/memory.h"

sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) ? layer->group : NULL;
}

/* All that depends on the replicas is made for the new group before anything changes. */
static int move(sbn_batchnorm *layer, sbn_group *group)
{
    sbn_channel_table running = {0};
    char *fresh = sbn__allocate(group->replica_count);
    sbn_geometry *geometry = sbn__allocate(sizeof *geometry * group->replica_count);
    int status = fresh && geometry ? SBN_SUCCESS : sbn__fail_memory("a layer");
    if (!status && layer->tracks)
        status = sbn__channel_table_create(&running, group, 3, layer->channels, 1);
    if (status) {
        sbn__channel_table_destroy(&running);
        sbn__free(fresh);
        sbn__free(geometry);
        return status;
    }
    sbn__channel_table_destroy(&layer->running);
    sbn__channel_table_destroy(&layer->scale);
    sbn__free(layer->running_fresh);
    sbn__free(layer->geometry);
    layer->running = running;
    layer->running_fresh = fresh;
    layer->running_filled = 0;
    layer->geometry = geometry;
    --layer->group->layers;
    ++group->layers;
    layer->group = group;
    ++layer->generation;
    return SBN_SUCCESS;
}

int sbn_batchnorm_convert(sbn_batchnorm *layer, sbn_group *group)
{
    sbn__error_clear();
    int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status)
        status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    if (!status)
        status = sbn__check_idle(layer, "moving it to another group");
    return status || layer->group == group ? status : move(layer, group);
}
