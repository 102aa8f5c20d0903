#include "model/entry.h"

#include "base/memory.h"
#include "tensor/shard.h"

/* Copies an element of a checked array. */
static sbn_parameters parameters_at(const sbn_parameters *parameters, size_t r)
{
    sbn_parameters its;
    sbn__struct_get(&its, sizeof its, parameters, r);
    return its;
}

int sbn__check_parameters(const char *name, const sbn_batchnorm *layer, const sbn_group *group,
                          const sbn_parameters *parameters)
{
    const int status = sbn__struct_check(parameters, group->replica_count,
                                         SBN_STRUCT(sbn_parameters), "parameters");
    if (status)
        return status;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_parameters its = parameters_at(parameters, r);
        const sbn_buffer *buffers[] = {&its.weight, &its.bias};
        for (int i = 0; i < 2; ++i) {
            const int fits = sbn__check_buffer(buffers[i], layer->channels, &group->replicas[r],
                                               name, i ? "bias" : "weight");
            if (fits)
                return fits;
        }
    }
    return SBN_SUCCESS;
}

static int retain(const sbn_buffer *buffer, sbn_buffer *kept)
{
    const cl_int code = clRetainMemObject(buffer->mem);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "clRetainMemObject: %s", sbn_strerror(code));
    sbn__handle_opened();
    *kept = *buffer;
    return SBN_SUCCESS;
}

static void release(sbn_buffer *buffer)
{
    if (!buffer->mem)
        return;
    clReleaseMemObject(buffer->mem);
    sbn__handle_closed();
}

int sbn__parameters_keep(const sbn_parameters *parameters, size_t replicas, sbn_parameters **kept)
{
    int status = SBN_SUCCESS;
    *kept = sbn__allocate(sizeof **kept * replicas);
    if (!*kept)
        return sbn__fail_memory("a layer's parameters");
    for (size_t r = 0; r < replicas && !status; ++r) {
        const sbn_parameters its = parameters_at(parameters, r);
        (*kept)[r].size = sizeof its;
        status = retain(&its.weight, &(*kept)[r].weight);
        if (!status)
            status = retain(&its.bias, &(*kept)[r].bias);
    }
    if (status) {
        sbn__parameters_drop(*kept, replicas);
        *kept = NULL;
    }
    return status;
}

void sbn__parameters_drop(sbn_parameters *parameters, size_t replicas)
{
    for (size_t r = 0; parameters && r < replicas; ++r) {
        release(&parameters[r].weight);
        release(&parameters[r].bias);
    }
    sbn__free(parameters);
}

static int fail(const sbn_entry *entry, size_t replica, const char *call, cl_int code)
{
    return sbn__fail(code, "layer \"%s\", replica %zu: %s: %s", entry->name, replica, call,
                     sbn_strerror(code));
}

/* Waits for all commands enqueued before, also on out-of-order queues. */
static int finish(const sbn_entry *entry, size_t replica)
{
    const cl_int code = clFinish(entry->layer->group->replicas[replica].queue);
    return code == CL_SUCCESS ? SBN_SUCCESS : fail(entry, replica, "clFinish", code);
}

int sbn__parameters_read(const sbn_entry *entry, float *weight, float *bias)
{
    if (entry->replicas == 0 || entry->layer->group->replica_count == 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\": weight and bias cannot be read: this rank has no replica",
                         entry->name);
    const sbn_buffer *from[] = {&entry->parameters[0].weight, &entry->parameters[0].bias};
    float *to[] = {weight, bias};
    const cl_command_queue queue = entry->layer->group->replicas[0].queue;
    int status = finish(entry, 0);
    for (int i = 0; i < 2 && !status; ++i) {
        if (!to[i])
            continue;
        const cl_int code = clEnqueueReadBuffer(queue, from[i]->mem, CL_TRUE,
                                                sizeof(float) * from[i]->offset,
                                                sizeof(float) * entry->layer->channels, to[i], 0,
                                                NULL, NULL);
        if (code != CL_SUCCESS)
            status = fail(entry, 0, "clEnqueueReadBuffer", code);
    }
    return status;
}

int sbn__parameters_write(const sbn_entry *entry, const float *weight, const float *bias)
{
    const float *from[] = {weight, bias};
    int status = SBN_SUCCESS;
    /* First, because replicas may share buffers. */
    for (size_t r = 0; r < entry->replicas && !status; ++r)
        status = finish(entry, r);
    for (size_t r = 0; r < entry->replicas && !status; ++r) {
        const sbn_buffer *to[] = {&entry->parameters[r].weight, &entry->parameters[r].bias};
        const cl_command_queue queue = entry->layer->group->replicas[r].queue;
        for (int i = 0; i < 2 && !status; ++i) {
            if (!from[i])
                continue;
            const cl_int code = clEnqueueWriteBuffer(queue, to[i]->mem, CL_TRUE,
                                                     sizeof(float) * to[i]->offset,
                                                     sizeof(float) * entry->layer->channels,
                                                     from[i], 0, NULL, NULL);
            if (code != CL_SUCCESS)
                status = fail(entry, r, "clEnqueueWriteBuffer", code);
        }
    }
    return status;
}

int sbn__check_replicas(const sbn_entry *entry)
{
    const size_t replicas = entry->layer->group->replica_count;
    if (entry->replicas != replicas)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\": expected a group of %zu replicas, whose buffers the model "
                         "knows, got one of %zu; move it back, then all by sbn_model_set_group",
                         entry->name, entry->replicas, replicas);
    return SBN_SUCCESS;
}

int sbn__entry_check_known(const sbn_entry *entry)
{
    if (entry->layer->affine && !entry->parameters && entry->replicas > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\": the model was not told where its weight and bias lie",
                         entry->name);
    return entry->layer->affine ? sbn__check_replicas(entry) : SBN_SUCCESS;
}
