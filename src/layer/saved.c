#include "layer/saved.h"

#include "base/memory.h"
#include "layer/batchnorm.h"
#include "plan/launch_plan.h"
#include "plan/sizes.h"
#include "program/kernel_constants.h"

/* --- masks -------------------------------------------------------------------------- */

/* The elements between which no two work-items of the apply kernel write a word. */
static size_t row_of(const sbn_shape *shape, const sbn_replica *replica)
{
    return sbn__plan_apply(shape, replica).walk == SBN_WALK_PLANES ? shape->plane : shape->row;
}

int sbn__mask_is_padded(const sbn_shape *shape, sbn_kernel_form form)
{
    return shape->row % (size_t)sbn__form_sizes(form)->mask_bits != 0;
}

size_t sbn__mask_layout(sbn_mask_rows *rows, size_t row, size_t elements, sbn_kernel_form form)
{
    const sbn_form_sizes *sizes = sbn__form_sizes(form);
    const size_t bits = (size_t)sizes->mask_bits, padded = sbn__round_up(row, bits);
    *rows = (sbn_mask_rows){row, UINT64_MAX / row, (cl_uint)(padded - row)};
    /* Kernels read a word more than they need. */
    return (elements / row * (padded / bits) + 1) * (size_t)sizes->mask_word;
}

int sbn__mask_prepare(sbn_mask *mask, sbn_replica *replica, const sbn_shape *shape)
{
    if (shape->elements == 0)
        return SBN_SUCCESS;
    const size_t size = sbn__mask_layout(&mask->next, row_of(shape, replica), shape->elements,
                                         replica->form);
    if (mask->words.size < size)
        return sbn__reserve(replica, &mask->larger, size);
    /* Of a pass that failed. Words that were loaded since may be larger still. */
    sbn__release_buffer(&mask->larger);
    return SBN_SUCCESS;
}

void sbn__mask_begin(sbn_mask *mask)
{
    mask->rows = mask->next;
    if (!mask->larger.mem)
        return;
    sbn__release_buffer(&mask->words);
    mask->words = mask->larger;
    mask->larger = (sbn_device_buffer){NULL, 0, 0};
}

/* --- creating and destroying -------------------------------------------------------- */

/* Frees what is of the size of the layer's group. */
static void free_content(sbn_saved *saved)
{
    /* Without a table, which is made last, they are empty. */
    for (size_t r = 0; r < saved->table.replicas; ++r) {
        sbn__release_buffer(&saved->masks[r].words);
        sbn__release_buffer(&saved->masks[r].larger);
    }
    sbn__free(saved->masks);
    sbn__channel_table_destroy(&saved->table);
    sbn__saved_moments_destroy(saved->moments);
    sbn__free(saved->shapes);
}

static int make_content(sbn_saved *saved)
{
    sbn_group *group = saved->layer->group;
    const size_t channels = saved->layer->channels, replicas = group->replica_count;
    saved->generation = saved->layer->generation;
    saved->moments = sbn__saved_moments_create(channels, replicas);
    saved->shapes = sbn__allocate(sizeof *saved->shapes * replicas);
    saved->masks = sbn__allocate(sizeof *saved->masks * replicas);
    return saved->moments && saved->shapes && saved->masks
               ? sbn__coefficients_create(&saved->table, group, channels)
               : sbn__fail_memory("saved statistics");
}

static void free_saved(sbn_saved *saved)
{
    free_content(saved);
    sbn__object_remove(&saved->object);
    sbn__free(saved);
}

int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved)
{
    if (!saved)
        return sbn__fail(SBN_INVALID_ARGUMENT, "saved: expected a place for the handle, got NULL");
    *saved = NULL;
    int status = sbn__enter(layer, SBN_HANDLE_BATCHNORM, "layer");
    if (status)
        return status;
    sbn_saved *made = sbn__allocate(sizeof *made);
    if (!made)
        return sbn__fail_memory("saved statistics");
    sbn__object_add(&made->object, SBN_HANDLE_SAVED);
    made->layer = layer;
    status = make_content(made);
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
    if (saved->generation == saved->layer->generation)
        return SBN_SUCCESS;
    sbn_saved next = {.layer = saved->layer};
    const int status = make_content(&next);
    if (status) {
        free_content(&next);
        return status;
    }
    free_content(saved);
    saved->generation = next.generation;
    saved->moments = next.moments;
    saved->shapes = next.shapes;
    saved->masks = next.masks;
    saved->table = next.table;
    saved->filled = 0;
    return SBN_SUCCESS;
}

/* --- reading ------------------------------------------------------------------------ */

int sbn__saved_read(const sbn_saved *saved)
{
    sbn_saved_moments *moments = saved->moments;
    if (moments->on_host)
        return SBN_SUCCESS;
    const sbn_replica *replica = saved->layer->group->replicas;
    const cl_event written = saved->table.copies->written;
    cl_int state = CL_COMPLETE;
    if (written)
        clWaitForEvents(1, &written);
    int status = written ? sbn__event_state(replica, written, &state) : SBN_SUCCESS;
    if (!status && state < 0)
        status = sbn__fail(state,
                           "saved: the forward pass of layer \"%s\" that fills it has failed on "
                           "its device: %s",
                           saved->layer->name, sbn_strerror(state));
    if (!status)
        status = sbn__read_now(replica, replica->transfer_queue, moments->device[0].mem, 0,
                               sizeof(double) * SBN_MOMENT_ROWS * moments->channels, moments->mean,
                               "saved statistics");
    moments->on_host = !status;
    return status;
}

int sbn_saved_stats(const sbn_saved *saved, float *mean, float *var, uint64_t *count)
{
    int status = sbn__enter(saved, SBN_HANDLE_SAVED, "saved");
    if (!status)
        status = sbn__check_filled(saved, saved->layer);
    if (!status && (mean || var))
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
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "saved: no forward pass has filled it since layer \"%s\" changed its group",
            layer->name);
    return SBN_SUCCESS;
}

int sbn__check_same_shapes(const sbn_saved *saved, const sbn_shape *shapes, const char *operation)
{
    for (size_t r = 0; r < saved->layer->group->replica_count; ++r) {
        const sbn_shape *was = &saved->shapes[r];
        if (was->samples != shapes[r].samples || was->plane != shapes[r].plane)
            return sbn__fail(
                SBN_INVALID_ARGUMENT,
                "%s of layer \"%s\", rank %d, replica %zu: shape: expected %zu samples "
                "of %zu positions as in the forward pass, got %zu of %zu",
                operation, saved->layer->name, sbn_group_rank(saved->layer->group), r, was->samples,
                was->plane, shapes[r].samples, shapes[r].plane);
    }
    return SBN_SUCCESS;
}
