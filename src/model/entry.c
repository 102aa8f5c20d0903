#include "model/entry.h"

#include "base/memory.h"
#include "device/commands.h"
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
    int status = sbn__struct_check(parameters, group->replica_count, SBN_STRUCT(sbn_parameters),
                                   "parameters");
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_parameters its = parameters_at(parameters, r);
        const sbn_buffer *buffers[] = {&its.weight, &its.bias};
        for (int i = 0; i < 2 && !status; ++i)
            status = sbn__check_buffer(buffers[i], layer->channels, &group->replicas[r], name,
                                       i ? "bias" : "weight");
    }
    return status;
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
    return status;
}

void sbn__parameters_drop(sbn_parameters *parameters, size_t replicas)
{
    for (size_t r = 0; parameters && r < replicas; ++r) {
        sbn__release_mem(parameters[r].weight.mem);
        sbn__release_mem(parameters[r].bias.mem);
    }
    sbn__free(parameters);
}

int sbn__parameters_read(const sbn_entry *entry, float *weight, float *bias)
{
    const size_t size = sizeof(float) * entry->layer->channels;
    const sbn_replica *replica = entry->layer->group->replicas;
    if (entry->replicas == 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "layer \"%s\": weight and bias cannot be read: this rank has no replica",
                         entry->name);
    const sbn_buffer *from[] = {&entry->parameters[0].weight, &entry->parameters[0].bias};
    float *to[] = {weight, bias};
    /* All commands before, also on a queue without order. */
    int status = sbn__finish(replica);
    for (int i = 0; i < 2 && !status; ++i)
        if (to[i])
            status = sbn__read_now(replica, replica->queue, from[i]->mem,
                                   sizeof(float) * from[i]->offset, size, to[i], entry->name);
    return status;
}

int sbn__parameters_write(const sbn_entry *entry, const float *weight, const float *bias)
{
    const size_t size = sizeof(float) * entry->layer->channels;
    const sbn_replica *replicas = entry->layer->group->replicas;
    const float *from[] = {weight, bias};
    int status = SBN_SUCCESS;
    /* First, because replicas may share buffers. */
    for (size_t r = 0; r < entry->replicas && !status; ++r)
        status = sbn__finish(&replicas[r]);
    for (size_t r = 0; r < entry->replicas && !status; ++r) {
        const sbn_buffer *to[] = {&entry->parameters[r].weight, &entry->parameters[r].bias};
        for (int i = 0; i < 2 && !status; ++i)
            if (from[i])
                status = sbn__write_now(&replicas[r], replicas[r].queue, to[i]->mem,
                                        sizeof(float) * to[i]->offset, size, from[i], entry->name);
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
