#include "tensor/host.h"

#include "base/error.h"
#include "base/type.h"
#include "device/commands.h"
#include "device/host_memory.h"
#include "plan/sizes.h"

/* Kernels of the GPU form load vectors of so many bytes, where a buffer's begin and the offset allow it. */
enum { VECTOR_BYTES = 16 };

/*
 * What lies before a tensor in the place where its buffer begins: nothing where it need not, for memory of
 * several buffers is undefined in OpenCL, though not where a driver uses it as it is.
 */
static size_t lead_of(const sbn_replica *replica, size_t address)
{
    return replica->form == SBN_FORM_GPU && replica->host_memory == SBN_HOST_MEMORY_USED
               ? address % VECTOR_BYTES
               : 0;
}

static sbn_host_buffer *find(sbn_host_buffers *buffers, const void *address)
{
    for (size_t i = 0; i < buffers->count; ++i)
        if (buffers->of[i].address == address)
            return &buffers->of[i];
    return NULL;
}

/* What shares its begin with others gets the largest's size. */
static void note(sbn_host_buffers *buffers, const sbn_replica *replica, const sbn_use *use)
{
    const size_t begin = sbn__use_begin(use), lead = lead_of(replica, begin);
    const size_t size = sbn__use_end(use) - begin + lead;
    void *const address = (void *)(begin - lead);
    sbn_host_buffer *buffer = find(buffers, address);
    if (!buffer) {
        buffer = &buffers->of[buffers->count++];
        *buffer = (sbn_host_buffer){.address = address};
    }
    buffer->size = sbn__at_least(size, buffer->size);
    buffer->written |= use->written;
}

static void replace(sbn_host_buffers *buffers, const sbn_replica *replica, sbn_buffer *of_shard,
                    sbn_type type)
{
    const size_t size = sbn__type_size(type);
    const size_t begin = (size_t)of_shard->mem + of_shard->offset * size;
    const size_t lead = lead_of(replica, begin);
    const sbn_host_buffer *found = of_shard->mem ? find(buffers, (void *)(begin - lead)) : NULL;
    *of_shard = found ? (sbn_buffer){found->mem, lead / size} : (sbn_buffer)SBN_BUFFER_INIT;
}

int sbn__host_open(sbn_host_buffers *buffers, const sbn_batchnorm *layer, sbn_replica *replica,
                   sbn_shard *shard, const sbn_shape *shape, unsigned needs, const char *operation)
{
    sbn_buffer *const tensors[] = {&shard->x,  &shard->y,        &shard->dy,
                                   &shard->dx, &shard->residual, &shard->residual_grad};
    sbn_buffer *const floats[] = {&shard->weight,    &shard->bias,         &shard->weight_grad,
                                  &shard->bias_grad, &shard->running_mean, &shard->running_var};
    sbn_use uses[SBN_MAX_USES];
    buffers->count = 0;
    buffers->open = shard->memory == SBN_MEMORY_HOST;
    if (!buffers->open)
        return SBN_SUCCESS;
    const size_t count = sbn__list_uses(uses, shard, shape, sbn__needs_of(layer, needs),
                                        layer->affine);
    int status = sbn__host_memory_try(replica);
    for (size_t i = 0; i < count && !status; ++i) {
        const sbn_use *use = &uses[i];
        if (use->written && use->gap > 0 && replica->host_memory == SBN_HOST_MEMORY_COPIED)
            status = sbn__fail(SBN_INVALID_ARGUMENT,
                               "%s of layer \"%.48s\", rank %d, replica %zu: %s: expected a dense "
                               "tensor in memory of the host, which is copied for this device, "
                               "got a view",
                               operation, layer->name, sbn_group_rank(layer->group), replica->index,
                               use->name);
        else if (use->buffer.mem)
            note(buffers, replica, use);
    }
    /* Copies are made with the buffers. */
    if (!status && replica->host_memory == SBN_HOST_MEMORY_COPIED)
        status = sbn__shard_wait(replica, shard);
    for (size_t i = 0; i < buffers->count && !status; ++i) {
        sbn_host_buffer *buffer = &buffers->of[i];
        status = sbn__host_memory_take(replica, buffer->address, buffer->size, &buffer->mem);
    }
    if (status)
        return status;
    for (size_t i = 0; i < sizeof tensors / sizeof *tensors; ++i)
        replace(buffers, replica, tensors[i], shape->type);
    for (size_t i = 0; i < sizeof floats / sizeof *floats; ++i)
        replace(buffers, replica, floats[i], SBN_F32);
    return SBN_SUCCESS;
}

int sbn__host_close(sbn_host_buffers *buffers, sbn_replica *replica, cl_event last)
{
    int done, status = SBN_SUCCESS;
    if (!buffers->open)
        return SBN_SUCCESS;
    if (last && replica->wakes_late)
        status = sbn__event_await(replica, last);
    const int finished = sbn__finish(replica);
    status = status ? status : finished;
    for (size_t i = 0; i < buffers->count; ++i) {
        const sbn_host_buffer *buffer = &buffers->of[i];
        if (buffer->mem && buffer->written && !status)
            status = sbn__host_memory_fetch(replica, buffer->address, buffer->size, buffer->mem);
        if (buffer->mem)
            sbn__host_memory_give(replica, buffer->address, buffer->size, buffer->mem);
    }
    buffers->open = 0;
    return !status && last ? sbn__event_done(replica, last, &done) : status;
}

float *sbn__host_floats(const sbn_host_buffers *buffers, const sbn_buffer *buffer)
{
    for (size_t i = 0; i < buffers->count; ++i)
        if (buffers->of[i].mem == buffer->mem)
            return (float *)buffers->of[i].address + buffer->offset;
    return NULL;
}
