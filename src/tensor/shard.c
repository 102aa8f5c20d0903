#include "tensor/shard.h"

#include <stdio.h>
#include <string.h>

#include "layer/saved.h"

unsigned sbn__needs_of(const sbn_batchnorm *layer, unsigned needs)
{
    const int is_backward = (needs & SBN_NEEDS_DY) != 0;
    /* Without a mask a backward pass finds the sign of z. */
    if (is_backward && !layer->config.residual && layer->config.activation != SBN_IDENTITY)
        needs |= SBN_NEEDS_X | SBN_NEEDS_BIAS;
    if (layer->config.from_output && !is_backward)
        needs |= SBN_MAY_REPLACE_X;
    if (layer->config.from_output && is_backward && needs & SBN_NEEDS_X)
        needs = (needs & ~(unsigned)SBN_NEEDS_X) | SBN_READS_Y | SBN_NEEDS_BIAS;
    if (!layer->tracks)
        needs &= ~(unsigned)(SBN_MAY_TRACK | SBN_READS_RUNNING);
    if (layer->config.residual)
        needs |= is_backward ? SBN_MAY_RESIDUAL_GRAD : SBN_NEEDS_RESIDUAL;
    return needs;
}

/* A layer in one dimension also accepts tensors without one. */
static int check_dimensions(const sbn_batchnorm *layer, const sbn_shard *shard, const char *who)
{
    static const char *const shapes[] = {"(N,C) or (N,C,L)", "(N,C,H,W)", "(N,C,D,H,W)"};
    const int space = shard->dims - 2, wanted = layer->config.dimensions;
    if (wanted == 0 || space == wanted || (space == 0 && wanted == 1))
        return SBN_SUCCESS;
    char shape[128];
    sbn__print_shape(shard, shape, sizeof shape);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: shape: expected %s for a layer in %d dimension%s, got %s", who,
                     shapes[wanted - 1], wanted, wanted == 1 ? "" : "s", shape);
}

/* Kernels count the elements between rows in 32 bits, and with those of a pixel. */
#define MOST_GAP ((size_t)1 << 31)

static int set_gap(cl_uint *gap, const sbn_shape *shape, size_t pitch, const char *who,
                   const char *name)
{
    if (pitch == 0 || shape->elements == 0)
        return SBN_SUCCESS;
    const char *const row = shape->layout == SBN_LAYOUT_NCHW || shape->plane == 1 ? "sample"
                                                                                  : "pixel";
    if (pitch < shape->row)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: %s: expected 0 or at least the %zu elements of a %s, got %zu", who,
                         name, shape->row, row, pitch);
    /* The pitch of a single row does not matter. */
    if (shape->rows == 1)
        return SBN_SUCCESS;
    if (pitch - shape->row > MOST_GAP || pitch > ((size_t)1 << 56) / shape->rows)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: %s: expected at most 2^31 elements between %ss and 2^56 in all, got "
                         "%zu between %zu",
                         who, name, row, pitch - shape->row, shape->rows);
    *gap = (cl_uint)(pitch - shape->row);
    return SBN_SUCCESS;
}

/* The pitches of the tensors that a pass accesses. */
static int set_gaps(sbn_shape *shape, const sbn_shard *shard, unsigned needs, const char *who)
{
    int status = SBN_SUCCESS;
    if (needs & SBN_NEEDS_X)
        status = set_gap(&shape->x_gap, shape, shard->x_pitch, who, "x_pitch");
    if (!status && needs & SBN_READS_Y)
        status = set_gap(&shape->x_gap, shape, shard->y_pitch, who, "y_pitch");
    if (!status && needs & SBN_NEEDS_Y)
        status = set_gap(&shape->y_gap, shape, shard->y_pitch, who, "y_pitch");
    if (!status && needs & SBN_NEEDS_DY)
        status = set_gap(&shape->dy_gap, shape, shard->dy_pitch, who, "dy_pitch");
    if (!status && needs & SBN_MAY_DX && shard->dx.mem)
        status = set_gap(&shape->dx_gap, shape, shard->dx_pitch, who, "dx_pitch");
    return status;
}

static int check_running(const sbn_shard *shard, const char *who)
{
    const int has_mean = shard->running_mean.mem != NULL, has_var = shard->running_var.mem != NULL;
    return has_mean == has_var
               ? SBN_SUCCESS
               : sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected a buffer beside %s, got NULL",
                           who, has_mean ? "running_var" : "running_mean",
                           has_mean ? "running_mean" : "running_var");
}

/* 1 if an output lies over the input that it replaces. */
static int is_in_place(const sbn_shard *shard, const sbn_shape *shape, unsigned needs)
{
    return (needs & SBN_MAY_REPLACE_X && sbn__is_same_buffer(&shard->x, &shard->y) &&
            shape->x_gap == shape->y_gap) ||
           (needs & SBN_MAY_DX && sbn__is_same_buffer(&shard->dy, &shard->dx) &&
            shape->dy_gap == shape->dx_gap);
}

int sbn__check_shards(const sbn_batchnorm *layer, const sbn_shard *shards, unsigned needs,
                      const char *operation, sbn_shape *shapes)
{
    const sbn_group *group = layer->group;
    needs = sbn__needs_of(layer, needs);
    char who[128];
    snprintf(who, sizeof who, "%s of layer \"%.48s\", rank %d: shards", operation, layer->name,
             sbn_group_rank(group));
    if (!shards && group->replica_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: expected %zu, got NULL", who,
                         group->replica_count);
    int status = sbn__struct_check(shards, group->replica_count, SBN_STRUCT(sbn_shard), who);
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_shard own = sbn__shard_at(shards, r), *shard = &own;
        snprintf(who, sizeof who, "%s of layer \"%.48s\", rank %d, replica %zu", operation,
                 layer->name, sbn_group_rank(group), r);
        status = sbn__shape_of(&shapes[r], shard, layer->channels, layer->config.layout,
                               layer->config.type, who);
        if (!status)
            status = check_dimensions(layer, shard, who);
        if (!status && shard->num_wait > 0 && !shard->wait_list)
            status = sbn__fail(SBN_INVALID_ARGUMENT, "%s: wait_list: expected %u events, got NULL",
                               who, shard->num_wait);
        if (!status && (unsigned)shard->memory > SBN_MEMORY_HOST)
            status = sbn__fail(SBN_INVALID_ARGUMENT, "%s: memory: expected an sbn_memory, got %d",
                               who, (int)shard->memory);
        if (!status && needs & (SBN_MAY_TRACK | SBN_READS_RUNNING))
            status = check_running(shard, who);
        if (!status)
            status = set_gaps(&shapes[r], shard, needs, who);
        if (status)
            return status;
        shapes[r].in_place = is_in_place(shard, &shapes[r], needs);
        shapes[r].samples_apart = sbn__is_masked(layer) &&
                                  sbn__mask_is_padded(&shapes[r], group->replicas[r].form);
        sbn_use uses[SBN_MAX_USES];
        const size_t count = sbn__list_uses(uses, shard, &shapes[r], needs, layer->affine);
        status = sbn__check_uses(uses, count, shard, &group->replicas[r], who);
    }
    return status;
}

int sbn__shard_wait(const sbn_replica *replica, const sbn_shard *shard)
{
    const cl_int code = shard->num_wait > 0 ? clWaitForEvents(shard->num_wait, shard->wait_list)
                                            : CL_SUCCESS;
    const int status = sbn__check_cl(replica, "clWaitForEvents", code);
    /* A queue in order covers inputs without a wait list, too. */
    return status || !replica->in_order ? status : sbn__finish(replica);
}

int sbn__shard_read(sbn_replica *replica, const sbn_shard *shard, const sbn_buffer *buffer,
                    size_t count, float *out)
{
    if (shard->memory == SBN_MEMORY_HOST) {
        const int status = sbn__shard_wait(replica, shard);
        if (!status)
            memcpy(out, (const float *)(const void *)buffer->mem + buffer->offset,
                   sizeof *out * count);
        return status;
    }
    const cl_int code = clEnqueueReadBuffer(replica->queue, buffer->mem, CL_TRUE,
                                            sizeof *out * buffer->offset, sizeof *out * count, out,
                                            shard->num_wait,
                                            shard->num_wait ? shard->wait_list : NULL, NULL);
    return sbn__check_cl(replica, "clEnqueueReadBuffer", code);
}

int sbn__make_last(sbn_replica *replica, const sbn_shard *shard, cl_event *last)
{
    return shard->event && !*last ? sbn__marker(replica, shard->num_wait, shard->wait_list, last)
                                  : SBN_SUCCESS;
}
