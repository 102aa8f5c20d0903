#include "pass/shard.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/type.h"

unsigned sbn__needs_of(const sbn_batchnorm *layer, unsigned needs)
{
    const int is_backward = (needs & SBN_NEEDS_DY) != 0;
    if (is_backward && sbn__recomputes(layer))
        needs |= SBN_NEEDS_X | SBN_NEEDS_BIAS;
    if (layer->residual)
        needs |= is_backward ? SBN_MAY_RESIDUAL_GRAD : SBN_NEEDS_RESIDUAL;
    return needs;
}

int sbn__is_same_buffer(const sbn_buffer *a, const sbn_buffer *b)
{
    return a->mem && a->mem == b->mem && a->offset == b->offset;
}

static int is_y_over_x(const sbn_shard *shard, unsigned needs)
{
    return needs & SBN_MAY_REPLACE_X && sbn__is_same_buffer(&shard->x, &shard->y);
}

static int is_dx_over_dy(const sbn_shard *shard, unsigned needs)
{
    return needs & SBN_MAY_DX && sbn__is_same_buffer(&shard->dy, &shard->dx);
}

static int is_residual_grad_over_dy(const sbn_shard *shard, unsigned needs)
{
    return needs & SBN_MAY_RESIDUAL_GRAD && sbn__is_same_buffer(&shard->dy, &shard->residual_grad);
}

size_t sbn__list_uses(sbn_use *uses, const sbn_shard *shard, const sbn_shape *shape, unsigned needs,
                      int affine)
{
    const size_t whole = shape->elements, channels = shape->channels;
    const int replaces_x = is_y_over_x(shard, needs);
    const int replaces_dy = is_dx_over_dy(shard, needs) || is_residual_grad_over_dy(shard, needs);
    size_t count = 0;
    if (whole > 0) {
        if (needs & SBN_NEEDS_X && !replaces_x)
            uses[count++] = (sbn_use){"x", shard->x, whole, shape->type, 0, 0};
        if (needs & SBN_NEEDS_RESIDUAL)
            uses[count++] = (sbn_use){"residual", shard->residual, whole, shape->type, 0, 0};
        if (needs & SBN_NEEDS_Y)
            uses[count++] = (sbn_use){"y", shard->y, whole, shape->type, 1, 0};
        if (needs & SBN_NEEDS_DY && !replaces_dy)
            uses[count++] = (sbn_use){"dy", shard->dy, whole, shape->type, 0, 0};
        if (needs & SBN_MAY_DX)
            uses[count++] = (sbn_use){"dx", shard->dx, whole, shape->type, 1, 1};
        if (needs & SBN_MAY_RESIDUAL_GRAD)
            uses[count++] =
                (sbn_use){"residual_grad", shard->residual_grad, whole, shape->type, 1, 1};
        if (affine && needs & SBN_NEEDS_WEIGHT)
            uses[count++] = (sbn_use){"weight", shard->weight, channels, SBN_F32, 0, 0};
        if (affine && needs & SBN_NEEDS_BIAS)
            uses[count++] = (sbn_use){"bias", shard->bias, channels, SBN_F32, 0, 0};
    }
    /* An empty shard has gradients too: zeros, or those of the group. */
    if (affine && needs & SBN_MAY_GRADIENTS) {
        uses[count++] = (sbn_use){"weight_grad", shard->weight_grad, channels, SBN_F32, 1, 1};
        uses[count++] = (sbn_use){"bias_grad", shard->bias_grad, channels, SBN_F32, 1, 1};
    }
    return count;
}

/* Checks a buffer and returns how many elements it holds. */
static int measure(cl_mem mem, sbn_type type, const sbn_replica *replica, const char *who,
                   const char *name, size_t *held)
{
    if (!mem)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected a buffer, got NULL", who, name);
    size_t bytes = 0;
    cl_context context = NULL;
    cl_int code = clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected a buffer, got another handle (%s)",
                         who, name, sbn_strerror(code));
    if (context != replica->context)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: %s: expected a buffer of the queue's context, got one of another",
                         who, name);
    *held = bytes / sbn__type_size(type);
    return SBN_SUCCESS;
}

int sbn__check_buffer(const sbn_buffer *buffer, size_t elements, const sbn_replica *replica,
                      const char *who, const char *name)
{
    size_t held = 0;
    const int status = measure(buffer->mem, SBN_F32, replica, who, name, &held);
    if (!status && (buffer->offset > held || held - buffer->offset < elements))
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: %s: expected %zu floats from offset %zu, got a buffer of %zu", who,
                         name, elements, buffer->offset, held);
    return status;
}

static int check_use(const sbn_use *u, const sbn_shard *shard, const sbn_replica *replica,
                     const char *who)
{
    size_t held = 0;
    if (!u->buffer.mem && u->optional)
        return SBN_SUCCESS;
    const int status = measure(u->buffer.mem, u->type, replica, who, u->name, &held);
    if (status)
        return status;
    if (u->buffer.offset > held || held - u->buffer.offset < u->elements) {
        char shape[128];
        sbn__print_shape(shard, shape, sizeof shape);
        return sbn__fail(
            SBN_INVALID_ARGUMENT,
            "%s: %s: expected %zu %s from offset %zu for shape %s, got a buffer of %zu", who,
            u->name, u->elements, sbn__type_plural(u->type), u->buffer.offset, shape, held);
    }
    return SBN_SUCCESS;
}

size_t sbn__use_begin(const sbn_use *u)
{
    return u->buffer.offset * sbn__type_size(u->type);
}

size_t sbn__use_end(const sbn_use *u)
{
    return (u->buffer.offset + u->elements) * sbn__type_size(u->type);
}

int sbn__uses_overlap(const sbn_use *a, const sbn_use *b)
{
    return a->buffer.mem && a->buffer.mem == b->buffer.mem && sbn__use_begin(a) < sbn__use_end(b) &&
           sbn__use_begin(b) < sbn__use_end(a);
}

static int check_overlaps(const sbn_use *uses, size_t count, const char *who)
{
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < count; ++j)
            if (i != j && uses[i].written && sbn__uses_overlap(&uses[i], &uses[j]))
                return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s is written and must not overlap %s",
                                 who, uses[i].name, uses[j].name);
    return SBN_SUCCESS;
}

int sbn__check_uses(const sbn_use *uses, size_t count, const sbn_shard *shard,
                    const sbn_replica *replica, const char *who)
{
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < count && !status; ++i)
        status = check_use(&uses[i], shard, replica, who);
    return status ? status : check_overlaps(uses, count, who);
}

/* A layer in one dimension also accepts tensors without one. */
static int check_dimensions(const sbn_batchnorm *layer, const sbn_shard *shard, const char *who)
{
    static const char *const shapes[] = {"(N,C) or (N,C,L)", "(N,C,H,W)", "(N,C,D,H,W)"};
    const int space = shard->dims - 2, wanted = layer->dimensions;
    if (wanted == 0 || space == wanted || (space == 0 && wanted == 1))
        return SBN_SUCCESS;
    char shape[128];
    sbn__print_shape(shard, shape, sizeof shape);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: shape: expected %s for a layer in %d dimension%s, got %s", who,
                     shapes[wanted - 1], wanted, wanted == 1 ? "" : "s", shape);
}

int sbn__check_shards(const sbn_batchnorm *layer, const sbn_shard *shards, unsigned needs,
                      const char *operation, sbn_shape *shapes)
{
    const sbn_group *group = layer->group;
    needs = sbn__needs_of(layer, needs);
    if (!shards && group->replica_count > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s of layer \"%s\": shards: expected %zu, got NULL",
                         operation, layer->name, group->replica_count);
    char who[128];
    snprintf(who, sizeof who, "%s of layer \"%.48s\", rank %d: shards", operation, layer->name,
             sbn_group_rank(group));
    const int possible = sbn__struct_check(shards, group->replica_count, SBN_STRUCT(sbn_shard),
                                           who);
    if (possible)
        return possible;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_shard own = sbn__shard_at(shards, r), *shard = &own;
        snprintf(who, sizeof who, "%s of layer \"%.48s\", rank %d, replica %zu", operation,
                 layer->name, sbn_group_rank(group), r);
        int status = sbn__shape_of(&shapes[r], shard, layer->channels, layer->layout, layer->type,
                                   who);
        if (!status)
            status = check_dimensions(layer, shard, who);
        if (!status && shard->num_wait > 0 && !shard->wait_list)
            status = sbn__fail(SBN_INVALID_ARGUMENT, "%s: wait_list: expected %u events, got NULL",
                               who, shard->num_wait);
        if (status)
            return status;
        shapes[r].in_place = is_y_over_x(shard, needs) || is_dx_over_dy(shard, needs);
        shapes[r].samples_apart = sbn__is_masked(layer) &&
                                  sbn__mask_is_padded(&shapes[r], group->replicas[r].form);
        sbn_use uses[SBN_MAX_USES];
        const size_t count = sbn__list_uses(uses, shard, &shapes[r], needs, layer->affine);
        status = sbn__check_uses(uses, count, shard, &group->replicas[r], who);
        if (status)
            return status;
    }
    return SBN_SUCCESS;
}

int sbn__hand_over(sbn_replica *replica, const sbn_shard *shard, cl_event *last)
{
    if (!shard->event)
        return SBN_SUCCESS;
    const int status = *last ? SBN_SUCCESS
                             : sbn__marker(replica, shard->num_wait, shard->wait_list, last);
    if (status)
        return status;
    *shard->event = *last;
    *last = NULL;
    sbn__handle_closed();
    return SBN_SUCCESS;
}

static int are_readable(const sbn_group *group, const sbn_shard *shards)
{
    return shards && sbn__struct_is_valid(shards, group->replica_count, sizeof *shards);
}

void sbn__forget_events(const sbn_group *group, const sbn_shard *shards)
{
    if (!are_readable(group, shards))
        return;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        if (shard.event)
            *shard.event = NULL;
    }
}

void sbn__withdraw_events(const sbn_group *group, const sbn_shard *shards)
{
    if (!are_readable(group, shards))
        return;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        if (shard.event && *shard.event)
            clReleaseEvent(*shard.event);
    }
    sbn__forget_events(group, shards);
}
