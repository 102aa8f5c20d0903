#include "check/queues.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"

/* At most so many groups are kept; then all are dropped. */
enum { KEPT = 16 };

typedef struct kept_group {
    size_t replicas, here;             /* in all, and of this process */
    int out_of_order, by_host, copies; /* the last two: as of other devices, which are pretended */
    sbn_kernel_form form;
    sbn_group *group;
    cl_command_queue queue[PROBLEM_MAX_REPLICAS];
} kept_group;

struct queues {
    size_t devices; /* that have a context */
    cl_device_id device[PROBLEM_MAX_REPLICAS];
    cl_context context[PROBLEM_MAX_REPLICAS]; /* per device; some share theirs */
    runner_config config;                     /* but for devices */
    size_t groups;
    kept_group kept[KEPT];
};

static cl_platform_id platform_of(cl_device_id device)
{
    cl_platform_id platform = NULL;
    clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
    return platform;
}

/* 1 if two entries of the list of devices share a context. */
static int share_context(const runner_config *config, size_t a, size_t b)
{
    return config->contexts == RUNNER_ENTRIES ? a == b
           : config->contexts == RUNNER_PLATFORMS
               ? platform_of(config->devices[a]) == platform_of(config->devices[b])
               : config->devices[a] == config->devices[b];
}

/* The context of device i: an earlier device's, or a new one for all that share it. */
static cl_int open_context(queues *q, size_t i, const runner_config *config)
{
    cl_device_id sharing[PROBLEM_MAX_REPLICAS];
    cl_uint count = 0;
    cl_int status = CL_SUCCESS;
    for (size_t first = 0; first < i; ++first) {
        if (share_context(config, first, i)) {
            q->context[i] = q->context[first];
            return clRetainContext(q->context[i]);
        }
    }
    /* One that is named twice counts once (clCreateContext). */
    for (size_t j = i; j < config->num_devices; ++j)
        if (share_context(config, i, j))
            sharing[count++] = config->devices[j];
    q->context[i] = clCreateContext(NULL, count, sharing, NULL, NULL, &status);
    return status;
}

int queues_open(const runner_config *config, queues **made, char *error)
{
    queues *q = *made = calloc(1, sizeof *q);
    int status = q ? SBN_SUCCESS : SBN_OUT_OF_MEMORY;
    if (q)
        q->config = *config;
    for (size_t i = 0; i < config->num_devices && !status; ++i) {
        q->device[i] = config->devices[i];
        status = open_context(q, i, config);
        q->devices += !status;
    }
    if (status) {
        snprintf(error, RUNNER_ERROR, "opening the devices: %s", sbn_strerror(status));
        queues_close(q);
        *made = NULL;
    }
    return status;
}

void queues_close(queues *q)
{
    if (!q)
        return;
    queues_forget_groups(q);
    for (size_t i = 0; i < q->devices; ++i)
        clReleaseContext(q->context[i]);
    free(q);
}

size_t queues_replicas(const queues *q)
{
    return q->devices * (q->config.ranks ? (size_t)q->config.ranks->world_size : 1);
}

const runner_ranks *queues_ranks(const queues *q)
{
    return q->config.ranks;
}

static void forget(kept_group *k)
{
    sbn_group_destroy(k->group);
    for (size_t r = 0; r < k->here && k->queue[r]; ++r)
        clReleaseCommandQueue(k->queue[r]);
    memset(k, 0, sizeof *k);
}

void queues_forget_groups(queues *q)
{
    while (q->groups)
        forget(&q->kept[--q->groups]);
}

/* Out-of-order where the device has such queues; elsewhere the same events on an ordered one. */
static cl_command_queue make_queue(const queues *q, size_t device, int out_of_order, cl_int *status)
{
    cl_command_queue_properties has = 0;
    if (out_of_order)
        clGetDeviceInfo(q->device[device], CL_DEVICE_QUEUE_PROPERTIES, sizeof has, &has, NULL);
    has &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    return clCreateCommandQueue(q->context[device], q->device[device], has | q->config.profiling,
                                status);
}

static int make_group(queues *q, kept_group *k)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    cl_int status = CL_SUCCESS;
    size_t first;
    k->here = runner_ranks_replicas(q->config.ranks, k->replicas, &first);
    for (size_t r = 0; r < k->here && !status; ++r)
        k->queue[r] = make_queue(q, (first + r) % q->devices, k->out_of_order, &status);
    if (!status && q->config.ranks) {
        config.transport = &transport;
        status = q->config.ranks->transport(q->config.ranks->context, &transport);
    }
    if (status)
        return status;
    config.queues = k->queue;
    config.replicas = k->here;
    config.form = k->form;
    config.build_options = q->config.build_options;
    config.program_cache = q->config.program_cache;
    status = sbn_group_create(&config, &k->group);
    if (!status && k->by_host)
        k->group->combines = 0;
    for (size_t r = 0; !status && k->copies && r < k->here; ++r) {
        k->group->replicas[r].host_memory = SBN_HOST_MEMORY_COPIED;
        k->group->replicas[r].cache_size = 0; /* results of any size bypass caches */
    }
    return status;
}

static int is_as(const kept_group *k, const kept_group *wanted)
{
    return k->replicas == wanted->replicas && k->out_of_order == wanted->out_of_order &&
           k->by_host == wanted->by_host && k->copies == wanted->copies && k->form == wanted->form;
}

int queues_group(queues *q, const problem *p, size_t replicas, sbn_group **group,
                 cl_command_queue **queue)
{
    const kept_group wanted = {
        .replicas = replicas,
        .out_of_order = p->out_of_order,
        .by_host = p->by_host,
        .copies = p->memory == PROBLEM_COPIED,
        .form = q->config.form == SBN_FORM_AUTO ? p->form : q->config.form,
    };
    kept_group *k = NULL;
    for (size_t i = 0; i < q->groups; ++i)
        if (is_as(&q->kept[i], &wanted))
            k = &q->kept[i];
    if (!k) {
        if (q->groups == KEPT)
            queues_forget_groups(q);
        k = &q->kept[q->groups];
        *k = wanted;
        int status = make_group(q, k);
        if (status) {
            forget(k);
            return status;
        }
        ++q->groups;
    }
    *group = k->group;
    *queue = k->queue;
    return SBN_SUCCESS;
}
