/* A layer changes its group. Its saved statistics follow when they are next used. */
#include "base/memory.h"
#include "layer/batchnorm.h"

sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) ? layer->group : NULL;
}

/* Allocates everything for the new group before anything changes. */
static int move(sbn_batchnorm *layer, sbn_group *group)
{
    char *fresh = sbn__allocate(group->replica_count);
    sbn_shape *shapes = sbn__allocate(sizeof *shapes * group->replica_count);
    int status = fresh && shapes ? SBN_SUCCESS : sbn__fail_memory("a layer");
    if (!status)
        status = sbn__group_load(group, layer->type, layer->fusion);
    if (!status && layer->tracks)
        status = sbn__running_read(layer->running, layer->group, layer->name);
    if (status) {
        sbn__free(fresh);
        sbn__free(shapes);
        return status;
    }
    if (layer->tracks)
        sbn__running_leave(layer->running);
    sbn__channel_table_destroy(&layer->table);
    sbn__free(layer->table_fresh);
    sbn__free(layer->shapes);
    layer->table_fresh = fresh;
    layer->table_version = 0;
    layer->shapes = shapes;
    --layer->group->layers;
    ++group->layers;
    layer->group = group;
    ++layer->generation;
    return SBN_SUCCESS;
}

int sbn_batchnorm_set_group(sbn_batchnorm *layer, sbn_group *group)
{
    sbn__error_clear();
    int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status)
        status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    if (!status)
        status = sbn__check_idle(layer, "moving it to another group");
    return status || layer->group == group ? status : move(layer, group);
}
