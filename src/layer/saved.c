#include "base/memory.h"
#include "layer/batchnorm.h"

static void free_masks(sbn_mask *masks, size_t count)
{
    for (size_t r = 0; masks && r < count; ++r)
        sbn__mask_destroy(&masks[r]);
    sbn__free(masks);
}

static void free_saved(sbn_saved *saved)
{
    free_masks(saved->masks, saved->mask_count);
    sbn__channel_table_destroy(&saved->table);
    sbn__saved_moments_destroy(saved->moments);
    sbn__free(saved->shapes);
    sbn__object_remove(&saved->object);
    sbn__free(saved);
}

int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved)
{
    sbn__error_clear();
    if (!saved)
        return sbn__fail(SBN_INVALID_ARGUMENT, "saved: expected a place for the handle, got NULL");
    *saved = NULL;
    int status = sbn__check_handle(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    sbn_saved *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("saved statistics");
    sbn__object_add(&made->object, SBN_HANDLE_SAVED);
    made->layer = layer;
    made->generation = layer->generation;
    made->moments = sbn__saved_moments_create(layer->channels, layer->group->replica_count);
    made->shapes = sbn__allocate(sizeof(sbn_shape) * layer->group->replica_count);
    made->masks = sbn__allocate(sizeof *made->masks * layer->group->replica_count);
    made->mask_count = layer->group->replica_count;
    if (!made->moments || !made->shapes || !made->masks)
        status = sbn__fail_memory("saved statistics");
    else
        status = sbn__coefficients_create(&made->table, layer->group, layer->channels);
    if (status) {
        free_saved(made);
        return status;
    }
    ++layer->saved;
    *saved = made;
    return SBN_SUCCESS;
}

int sbn_saved_destroy(sbn_saved *saved)
{
    const int status = saved ? sbn__check_handle(saved, SBN_HANDLE_SAVED, "saved") : SBN_SUCCESS;
    if (!saved || status)
        return status;
    if (saved->used > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "saved: expected no pass under way that uses it, got %d; end them, then "
                         "destroy it",
                         saved->used);
    --saved->layer->saved;
    free_saved(saved);
    return SBN_SUCCESS;
}

int sbn__saved_follow(sbn_saved *saved)
{
    sbn_group *group = saved->layer->group;
    if (saved->generation == saved->layer->generation)
        return SBN_SUCCESS;
    sbn_channel_table table = {0};
    const size_t channels = saved->layer->channels, replicas = group->replica_count;
    sbn_shape *shapes = sbn__allocate(sizeof *shapes * replicas);
    sbn_mask *masks = sbn__allocate(sizeof *masks * replicas);
    sbn_saved_moments *moments = sbn__saved_moments_create(channels, replicas);
    const int status = shapes && masks && moments
                           ? sbn__coefficients_create(&table, group, channels)
                           : sbn__fail_memory("saved statistics");
    if (status) {
        sbn__free(masks);
        sbn__channel_table_destroy(&table);
        sbn__saved_moments_destroy(moments);
        sbn__free(shapes);
        return status;
    }
    sbn__channel_table_destroy(&saved->table);
    sbn__saved_moments_destroy(saved->moments);
    sbn__free(saved->shapes);
    free_masks(saved->masks, saved->mask_count);
    saved->masks = masks;
    saved->mask_count = replicas;
    saved->moments = moments;
    saved->table = table;
    saved->shapes = shapes;
    saved->filled = 0;
    saved->generation = saved->layer->generation;
    return SBN_SUCCESS;
}

static int fail_moved(const sbn_batchnorm *layer)
{
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "saved: no forward pass has filled it since layer \"%s\" changed its group",
                     layer->name);
}

int sbn__saved_read(const sbn_saved *saved)
{
    return sbn__saved_moments_read(saved->moments, &saved->table, saved->layer->group->replicas,
                                   saved->layer->name);
}

int sbn_saved_stats(const sbn_saved *saved, float *mean, float *var, uint64_t *count)
{
    sbn__error_clear();
    int status = sbn__check_handle(saved, SBN_HANDLE_SAVED, "saved");
    if (status)
        return status;
    if (!saved->filled)
        return sbn__fail(SBN_INVALID_ARGUMENT, "saved: no forward pass has filled it yet");
    if (saved->generation != saved->layer->generation)
        return fail_moved(saved->layer);
    if (mean || var)
        status = sbn__saved_read(saved);
    if (status)
        return status;
    for (size_t c = 0; c < saved->layer->channels; ++c) {
        if (mean)
            mean[c] = (float)saved->moments->mean[c];
        if (var)
            var[c] = (float)saved->moments->var[c];
    }
    if (count)
        *count = saved->count;
    return SBN_SUCCESS;
}

int sbn__check_filled(const sbn_saved *saved, const sbn_batchnorm *layer)
{
    const int status = sbn__check_handle(saved, SBN_HANDLE_SAVED, "saved");
    if (status)
        return status;
    if (saved->layer != layer)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "saved: expected saved statistics of layer \"%s\", got another layer's",
                         layer->name);
    if (saved->filling)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "saved: the forward pass that fills it has not ended");
    if (!saved->filled)
        return sbn__fail(SBN_INVALID_ARGUMENT, "saved: no forward pass has filled it yet");
    if (saved->generation != layer->generation)
        return fail_moved(layer);
    return SBN_SUCCESS;
}

int sbn__check_same_shapes(const sbn_saved *saved, const sbn_shape *shapes, const char *operation)
{
    for (size_t r = 0; r < saved->layer->group->replica_count; ++r) {
        const sbn_shape *was = &saved->shapes[r];
        if (was->samples != shapes[r].samples || was->plane != shapes[r].plane)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s of layer \"%s\", replica %zu: shape: expected %zu samples of %zu "
                             "positions as in the forward pass, got %zu of %zu",
                             operation, saved->layer->name, r, was->samples, was->plane,
                             shapes[r].samples, shapes[r].plane);
    }
    return SBN_SUCCESS;
}
