/* What a layer is set to: training or evaluation, frozen or not, and its group. */
#include "layer/state.h"

#include "base/memory.h"
#include "layer/running.h"

static int set(sbn_batchnorm *layer, int *flag, int value, const char *name, const char *what)
{
    if (value != 0 && value != 1)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected 0 or 1, got %d", name, value);
    const int status = *flag == value ? SBN_SUCCESS : sbn__check_idle(layer, what);
    if (!status)
        *flag = value;
    return status;
}

int sbn_batchnorm_set_training(sbn_batchnorm *layer, int training)
{
    const int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    return status ? status
                  : set(layer, &layer->training, training, "training",
                        "switching training and evaluation");
}

int sbn_batchnorm_set_frozen(sbn_batchnorm *layer, int frozen)
{
    const int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    return status ? status : set(layer, &layer->frozen, frozen, "frozen", "freezing");
}

int sbn_batchnorm_is_training(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) && layer->training;
}

int sbn_batchnorm_is_frozen(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) && layer->frozen;
}

sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer)
{
    return sbn__object_is(layer, SBN_HANDLE_BATCHNORM) ? layer->group : NULL;
}

int sbn__layer_move_prepare(sbn_batchnorm *layer, sbn_group *group, sbn_shape **shapes)
{
    int status = sbn__check_idle(layer, "moving it to another group");
    if (status || layer->group == group)
        return status;
    *shapes = sbn__allocate(sizeof **shapes * group->replica_count);
    status = *shapes ? SBN_SUCCESS : sbn__fail_memory("a layer");
    if (!status)
        status = sbn__group_load(group, layer->config.type, layer->fusion);
    if (!status && layer->tracks)
        status = sbn__running_read(layer->running, layer->group, layer->name);
    return status;
}

void sbn__layer_move_finish(sbn_batchnorm *layer, sbn_group *group, sbn_shape **shapes)
{
    if (layer->group == group)
        return;
    if (layer->tracks)
        sbn__running_drop_copy(layer->running);
    sbn__channel_table_destroy(&layer->table);
    sbn__free(layer->shapes);
    layer->shapes = *shapes;
    *shapes = NULL;
    --layer->group->layers;
    ++group->layers;
    layer->group = group;
    ++layer->generation;
}

int sbn_batchnorm_set_group(sbn_batchnorm *layer, sbn_group *group)
{
    sbn_shape *shapes = NULL;
    int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (!status)
        status = sbn__check_handle(group, SBN_HANDLE_GROUP, "group");
    if (!status)
        status = sbn__layer_move_prepare(layer, group, &shapes);
    if (!status)
        sbn__layer_move_finish(layer, group, &shapes);
    sbn__free(shapes);
    return status;
}
