/* A layer moves to another group. Its saved statistics follow when they are next used. */
#include "batchnorm.h"
#include "handles.h"

sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer)
{
    return layer && layer->tag == SBN_TAG_BATCHNORM ? layer->group : NULL;
}

/* All that depends on the replicas is made for the new group before anything changes. */
static int move(sbn_batchnorm *layer, sbn_group *group)
{
    sbn_table running = {0};
    char *fresh = sbn_allocate(group->replica_count);
    sbn_geometry *geometry = sbn_allocate(sizeof *geometry * group->replica_count);
    int status = fresh && geometry ? SBN_SUCCESS : sbn_fail_memory("a layer");
    if (!status && layer->tracks)
        status = sbn_table_create(&running, group, 3, layer->channels, 1);
    if (status) {
        sbn_table_destroy(&running);
        sbn_free(fresh);
        sbn_free(geometry);
        return status;
    }
    sbn_table_destroy(&layer->running);
    sbn_table_destroy(&layer->scale);
    sbn_free(layer->running_fresh);
    sbn_free(layer->geometry);
    layer->running = running;
    layer->running_fresh = fresh;
    layer->running_filled = 0;
    layer->geometry = geometry;
    layer->group = group;
    ++layer->moves;
    return SBN_SUCCESS;
}

int sbn_batchnorm_convert(sbn_batchnorm *layer, sbn_group *group)
{
    sbn_error_clear();
    int status = sbn_check_handle(layer, SBN_TAG_BATCHNORM, "layer");
    if (!status)
        status = sbn_check_handle(group, SBN_TAG_GROUP, "group");
    if (!status)
        status = sbn_check_idle(layer, "moving it to another group");
    return status || layer->group == group ? status : move(layer, group);
}
