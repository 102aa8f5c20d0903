#include "tensor/use.h"

#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "base/type.h"
#include "program/compiler_options.h"

int sbn__is_same_buffer(const sbn_buffer *a, const sbn_buffer *b)
{
    return a->mem && a->mem == b->mem && a->offset == b->offset;
}

sbn_use sbn__use_floats(const char *name, const sbn_buffer *buffer, size_t elements, int written,
                        int optional)
{
    return (sbn_use){name, *buffer, elements, SBN_F32, written, optional, 1, 0, 0};
}

static sbn_use tensor(const char *name, const sbn_buffer *buffer, const sbn_shape *shape,
                      cl_uint gap, int written, int optional)
{
    sbn_use use = sbn__use_floats(name, buffer, shape->elements, written, optional);
    use.type = shape->type;
    use.rows = shape->rows;
    use.gap = gap;
    return use;
}

/* The residual is dense, as its gradient. */
static int is_residual_grad_over_dy(const sbn_shard *shard, const sbn_shape *shape, unsigned needs)
{
    return needs & SBN_MAY_RESIDUAL_GRAD &&
           sbn__is_same_buffer(&shard->dy, &shard->residual_grad) && shape->dy_gap == 0;
}

size_t sbn__list_uses(sbn_use *uses, const sbn_shard *shard, const sbn_shape *shape, unsigned needs,
                      int affine)
{
    const size_t channels = shape->channels;
    size_t count = 0;
    if (shape->elements > 0) {
        if (needs & SBN_NEEDS_X && !(needs & SBN_MAY_REPLACE_X && shape->in_place))
            uses[count++] = tensor("x", &shard->x, shape, shape->x_gap, 0, 0);
        if (needs & SBN_READS_Y)
            uses[count++] = tensor("y", &shard->y, shape, shape->x_gap, 0, 0);
        if (needs & SBN_NEEDS_RESIDUAL)
            uses[count++] = tensor("residual", &shard->residual, shape, 0, 0, 0);
        if (needs & SBN_NEEDS_Y)
            uses[count++] = tensor("y", &shard->y, shape, shape->y_gap, 1, 0);
        if (needs & SBN_NEEDS_DY && !shape->in_place &&
            !is_residual_grad_over_dy(shard, shape, needs))
            uses[count++] = tensor("dy", &shard->dy, shape, shape->dy_gap, 0, 0);
        if (needs & SBN_MAY_DX)
            uses[count++] = tensor("dx", &shard->dx, shape, shape->dx_gap, 1, 1);
        if (needs & SBN_MAY_RESIDUAL_GRAD)
            uses[count++] = tensor("residual_grad", &shard->residual_grad, shape, 0, 1, 1);
        if (affine && needs & SBN_NEEDS_WEIGHT)
            uses[count++] = sbn__use_floats("weight", &shard->weight, channels, 0, 0);
        if (affine && needs & SBN_NEEDS_BIAS)
            uses[count++] = sbn__use_floats("bias", &shard->bias, channels, 0, 0);
    }
    if (needs & (SBN_MAY_TRACK | SBN_READS_RUNNING)) {
        const int writes = (needs & SBN_MAY_TRACK) != 0;
        uses[count++] = sbn__use_floats("running_mean", &shard->running_mean, channels, writes, 1);
        uses[count++] = sbn__use_floats("running_var", &shard->running_var, channels, writes, 1);
    }
    /* An empty shard has gradients too: zeros, or those of the group. */
    if (affine && needs & SBN_MAY_GRADIENTS) {
        uses[count++] = sbn__use_floats("weight_grad", &shard->weight_grad, channels, 1, 1);
        uses[count++] = sbn__use_floats("bias_grad", &shard->bias_grad, channels, 1, 1);
    }
    for (size_t i = 0; i < count; ++i)
        uses[i].on_host = shard->memory == SBN_MEMORY_HOST;
    return count;
}

/* Elements from the first to behind the last. */
static size_t extent(const sbn_use *u)
{
    return u->elements + (u->rows - 1) * u->gap;
}

static size_t pitch_of(const sbn_use *u)
{
    return u->elements / u->rows + u->gap;
}

/* An address, or none, has no size to ask for. */
static int check_address(const sbn_use *u, const char *who)
{
    const size_t size = sbn__type_size(u->type);
    return (uintptr_t)u->buffer.mem % size == 0
               ? SBN_SUCCESS
               : sbn__fail(SBN_INVALID_ARGUMENT,
                           "%s: %s: expected an address that is a multiple of %zu, got %p", who,
                           u->name, size, (void *)u->buffer.mem);
}

/* Without a shard the sentence has no shape. */
static int check_use(const sbn_use *u, const sbn_shard *shard, const sbn_replica *replica,
                     const char *who)
{
    static const char *const plurals[SBN_TYPES] = {"floats", "halves", "bfloat16s"};
    const cl_mem mem = u->buffer.mem;
    if (mem ? u->on_host : u->optional)
        return check_address(u, who);
    if (!mem)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected a buffer, got NULL", who, u->name);
    size_t bytes = 0;
    cl_context context = NULL;
    cl_int code = clGetMemObjectInfo(mem, CL_MEM_SIZE, sizeof bytes, &bytes, NULL);
    if (code == CL_SUCCESS)
        code = clGetMemObjectInfo(mem, CL_MEM_CONTEXT, sizeof context, &context, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: %s: expected a buffer, got another handle (%s)",
                         who, u->name, sbn_strerror(code));
    if (context != replica->context)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: %s: expected a buffer of the queue's context, got one of another",
                         who, u->name);
    if (bytes > replica->largest_buffer)
        return sbn__fail_large(replica->largest_buffer, bytes, who, u->name);
    const size_t held = bytes / sbn__type_size(u->type);
    if (u->buffer.offset <= held && held - u->buffer.offset >= extent(u))
        return SBN_SUCCESS;
    char shape[128] = "", pitch[48] = "";
    if (shard)
        sbn__print_shape(shard, shape, sizeof shape);
    if (u->gap > 0)
        snprintf(pitch, sizeof pitch, " and pitch %zu", pitch_of(u));
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: %s: expected %zu %s from offset %zu%s%s%s, got a buffer of %zu", who,
                     u->name, extent(u), plurals[u->type], u->buffer.offset,
                     shard ? " for shape " : "", shape, pitch, held);
}

int sbn__check_buffer(const sbn_buffer *buffer, size_t elements, const sbn_replica *replica,
                      const char *who, const char *name)
{
    const sbn_use use = sbn__use_floats(name, buffer, elements, 0, 0);
    return check_use(&use, NULL, replica, who);
}

cl_mem sbn__use_space(const sbn_use *u)
{
    return u->on_host ? NULL : u->buffer.mem;
}

size_t sbn__use_begin(const sbn_use *u)
{
    const size_t base = u->on_host ? (size_t)(uintptr_t)u->buffer.mem : 0;
    return base + u->buffer.offset * sbn__type_size(u->type);
}

size_t sbn__use_end(const sbn_use *u)
{
    return sbn__use_begin(u) + extent(u) * sbn__type_size(u->type);
}

int sbn__uses_meet(const sbn_use *a, const sbn_use *b)
{
    return a->buffer.mem && b->buffer.mem && sbn__use_space(a) == sbn__use_space(b) &&
           sbn__use_begin(a) < sbn__use_end(b) && sbn__use_begin(b) < sbn__use_end(a);
}

/* Bytes from one row to the next of those with gaps; 0: one run. */
static size_t pitch_in_bytes(const sbn_use *u)
{
    return u->gap > 0 ? pitch_of(u) * sbn__type_size(u->type) : 0;
}

static int pitches_differ(const sbn_use *a, const sbn_use *b)
{
    const size_t of_a = pitch_in_bytes(a), of_b = pitch_in_bytes(b);
    return of_a > 0 && of_b > 0 && of_a != of_b;
}

static size_t run_in_bytes(const sbn_use *u)
{
    return (u->gap > 0 ? u->elements / u->rows : u->elements) * sbn__type_size(u->type);
}

/* 1 if the rows of each lie within the gaps of the other. */
static int interleave(const sbn_use *a, const sbn_use *b)
{
    const size_t pitch = pitch_in_bytes(pitch_in_bytes(a) > 0 ? a : b);
    const size_t at_a = sbn__use_begin(a), at_b = sbn__use_begin(b);
    if (pitch == 0 || pitches_differ(a, b))
        return 0;
    /* The bytes from a row of a to the next row of b. */
    const size_t apart = (at_b % pitch + pitch - at_a % pitch) % pitch;
    return run_in_bytes(a) <= apart && run_in_bytes(b) <= pitch - apart;
}

int sbn__uses_overlap(const sbn_use *a, const sbn_use *b)
{
    return sbn__uses_meet(a, b) && !interleave(a, b);
}

const char *sbn__overlap_note(const sbn_use *a, const sbn_use *b)
{
    return pitches_differ(a, b) ? "; between first and last element, tensors of different pitches "
                                  "count as overlapping"
                                : "";
}

int sbn__check_uses(const sbn_use *uses, size_t count, const sbn_shard *shard,
                    const sbn_replica *replica, const char *who)
{
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < count && !status; ++i)
        status = check_use(&uses[i], shard, replica, who);
    for (size_t i = 0; i < count && !status; ++i)
        for (size_t j = 0; j < count && !status; ++j)
            if (i != j && uses[i].written && sbn__uses_overlap(&uses[i], &uses[j]))
                status = sbn__fail(SBN_INVALID_ARGUMENT,
                                   "%s: %s is written and must not overlap %s%s", who, uses[i].name,
                                   uses[j].name, sbn__overlap_note(&uses[i], &uses[j]));
    return status;
}
