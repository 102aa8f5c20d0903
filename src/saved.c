#include "batchnorm.h"
#include "handles.h"

int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved)
{
    sbn_error_clear();
    if (!saved)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "saved: a place for the handle was expected, NULL came");
    *saved = NULL;
    int status = sbn_check_handle(layer, SBN_TAG_BATCHNORM, "layer");
    if (status)
        return status;
    sbn_saved *made = sbn_allocate(sizeof *made);
    if (!made)
        return sbn_fail_memory("saved statistics");
    made->tag = SBN_TAG_SAVED;
    made->layer = layer;
    made->moves = layer->moves;
    made->mean = sbn_allocate(sizeof(double) * layer->channels);
    made->var = sbn_allocate(sizeof(double) * layer->channels);
    made->invstd = sbn_allocate(sizeof(double) * layer->channels);
    made->geometry = sbn_allocate(sizeof(sbn_geometry) * layer->group->replica_count);
    if (!made->mean || !made->var || !made->invstd || !made->geometry)
        status = sbn_fail_memory("saved statistics");
    else
        status = sbn_table_create(&made->table, layer->group, 3, layer->channels, 1);
    if (status) {
        sbn_saved_destroy(made);
        return status;
    }
    *saved = made;
    return SBN_SUCCESS;
}

void sbn_saved_destroy(sbn_saved *saved)
{
    if (!saved || saved->tag != SBN_TAG_SAVED)
        return;
    sbn_table_destroy(&saved->table);
    sbn_free(saved->mean);
    sbn_free(saved->var);
    sbn_free(saved->invstd);
    sbn_free(saved->geometry);
    saved->tag = 0;
    sbn_free(saved);
}

int sbn_saved_follow(sbn_saved *saved)
{
    sbn_group *group = saved->layer->group;
    if (saved->moves == saved->layer->moves)
        return SBN_SUCCESS;
    sbn_table table = {0};
    sbn_geometry *geometry = sbn_allocate(sizeof *geometry * group->replica_count);
    const int status = geometry ? sbn_table_create(&table, group, 3, saved->layer->channels, 1)
                                : sbn_fail_memory("saved statistics");
    if (status) {
        sbn_table_destroy(&table);
        sbn_free(geometry);
        return status;
    }
    sbn_table_destroy(&saved->table);
    sbn_free(saved->geometry);
    saved->table = table;
    saved->geometry = geometry;
    saved->filled = 0;
    saved->moves = saved->layer->moves;
    return SBN_SUCCESS;
}

int sbn_saved_get(const sbn_saved *saved, float *mean, float *var, uint64_t *count)
{
    sbn_error_clear();
    const int status = sbn_check_handle(saved, SBN_TAG_SAVED, "saved");
    if (status)
        return status;
    if (!saved->filled)
        return sbn_fail(SBN_INVALID_ARGUMENT, "saved: no forward pass has filled it yet");
    for (size_t c = 0; c < saved->layer->channels; ++c) {
        if (mean)
            mean[c] = (float)saved->mean[c];
        if (var)
            var[c] = (float)saved->var[c];
    }
    if (count)
        *count = saved->count;
    return SBN_SUCCESS;
}

int sbn_check_filled(const sbn_saved *saved, const sbn_batchnorm *layer)
{
    const int status = sbn_check_handle(saved, SBN_TAG_SAVED, "saved");
    if (status)
        return status;
    if (saved->layer != layer)
        return sbn_fail(
            SBN_INVALID_ARGUMENT,
            "saved: saved statistics of layer \"%s\" were expected, another layer's came",
            layer->name);
    if (saved->filling)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "saved: the forward pass that fills it has not ended");
    if (!saved->filled)
        return sbn_fail(SBN_INVALID_ARGUMENT, "saved: no forward pass has filled it yet");
    if (saved->moves != layer->moves)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "saved: no forward pass has filled it since layer \"%s\" changed its group",
                        layer->name);
    return SBN_SUCCESS;
}

int sbn_check_same_shapes(const sbn_saved *saved, const sbn_geometry *geometry,
                          const char *operation)
{
    for (size_t r = 0; r < saved->layer->group->replica_count; ++r) {
        const sbn_geometry *was = &saved->geometry[r];
        if (was->samples != geometry[r].samples || was->plane != geometry[r].plane)
            return sbn_fail(SBN_INVALID_ARGUMENT,
                            "%s of layer \"%s\", replica %zu: shape: %zu samples of %zu positions "
                            "were expected, as in the forward pass, %zu of %zu came",
                            operation, saved->layer->name, r, was->samples, was->plane,
                            geometry[r].samples, geometry[r].plane);
    }
    return SBN_SUCCESS;
}
