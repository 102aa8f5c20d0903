/*
 * What settles the model of make check-offline, measured on a device:
 *
 *   launches [--form FORM] FOLDER LIST [TYPE]
 *
 * of every usable device, or of those of a type, as gpu: the latencies of calls; the seconds that
 * building takes, without compiled programs in FOLDER and with them; and of each problem of LIST
 * every command of a pass, by profiling, the gaps between commands, and the time of passes in a row
 * without it, for one replica and for two. LIST has problems that `syncbn bench` takes, a line each.
 *
 * Commands are seen through the wrappers below: the linker is given --wrap for each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "check/devices.h"
#include "check/problem.h"
#include "offline/latencies.h"

enum {
    MOST_COMMANDS = 256,
    MOST_REPLICAS = 2,
    BUFFERS = 9,
    WARM_UP = 3,
    PROFILED = 9,
    IN_A_ROW = 20,
    ROWS = 5
};

static sbn_kernel_form form;

static int fail(const char *what, int status)
{
    fprintf(stderr, "launches: %s: %s: %s\n", what, sbn_strerror(status), sbn_last_error());
    return 1;
}

/* --- the commands of a pass --------------------------------------------------------- */

typedef struct command {
    char name[64];
    cl_command_queue queue;
    cl_event event;
} command;

static command commands[MOST_COMMANDS];
static size_t command_count;
static int records;

static void record(const char *name, cl_command_queue queue, const cl_event *event)
{
    if (!records || !event || command_count == MOST_COMMANDS)
        return;
    command *c = &commands[command_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    c->queue = queue;
    c->event = *event;
    clRetainEvent(*event);
}

#define WRAP(f, parameters) \
    cl_int __real_##f parameters; \
    cl_int __wrap_##f parameters; \
    cl_int __wrap_##f parameters

WRAP(clEnqueueNDRangeKernel, (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                              const size_t *offset, const size_t *global, const size_t *local,
                              cl_uint count, const cl_event *list, cl_event *event))
{
    char name[64] = "?";
    const cl_int code = __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global,
                                                      local, count, list, event);
    if (records && code == CL_SUCCESS) {
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
        record(name, queue, event);
    }
    return code;
}

WRAP(clEnqueueReadBuffer,
     (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
      cl_uint count, const cl_event *list, cl_event *event))
{
    const cl_int code = __real_clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to, count,
                                                   list, event);
    if (code == CL_SUCCESS)
        record("(read)", queue, event);
    return code;
}

WRAP(clEnqueueWriteBuffer,
     (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
      const void *from, cl_uint count, const cl_event *list, cl_event *event))
{
    const cl_int code = __real_clEnqueueWriteBuffer(queue, buffer, blocking, offset, size, from,
                                                    count, list, event);
    if (code == CL_SUCCESS)
        record("(write)", queue, event);
    return code;
}

WRAP(clEnqueueMarkerWithWaitList,
     (cl_command_queue queue, cl_uint count, const cl_event *list, cl_event *event))
{
    const cl_int code = __real_clEnqueueMarkerWithWaitList(queue, count, list, event);
    if (code == CL_SUCCESS)
        record("(marker)", queue, event);
    return code;
}

/* --- replicas ----------------------------------------------------------------------- */

/* How replicas are spread: on devices, in contexts. */
typedef struct spread {
    const char *name;
    size_t replicas;
    cl_device_id devices[MOST_REPLICAS];
    int apart; /* each in a context of its own */
} spread;

typedef struct setting {
    size_t replicas;
    cl_context contexts[MOST_REPLICAS];
    cl_command_queue queues[MOST_REPLICAS];
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    sbn_shard shards[MOST_REPLICAS];
    cl_mem buffers[MOST_REPLICAS][BUFFERS];
} setting;

static cl_mem make_buffer(setting *s, size_t replica, size_t which, size_t bytes, int *failed)
{
    cl_int code;
    const size_t count = bytes / sizeof(float) + 1;
    float *values = malloc(sizeof *values * count);
    uint32_t state = 1u + (uint32_t)which;
    for (size_t i = 0; values && i < count; ++i) {
        state = state * 1664525u + 1013904223u;
        /* Of halves these bits are numbers, too. */
        values[i] = (float)(state >> 8) * 0x1p-23f - 1.0f;
    }
    cl_mem made = clCreateBuffer(s->contexts[replica], CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                 sizeof *values * count, values, &code);
    free(values);
    if (code != CL_SUCCESS)
        *failed = fail("clCreateBuffer", code);
    s->buffers[replica][which] = made;
    return made;
}

static int make_shard(setting *s, size_t replica, const problem *p)
{
    sbn_shard *shard = &s->shards[replica];
    int failed = 0;
    size_t elements = p->samples * p->channels;
    *shard = (sbn_shard)SBN_SHARD_INIT;
    shard->dims = 2 + p->space_dims;
    shard->shape[0] = p->samples;
    shard->shape[1] = p->channels;
    for (int i = 0; i < p->space_dims; ++i) {
        shard->shape[2 + i] = p->space[i];
        elements *= p->space[i];
    }
    const size_t bytes = elements * (p->type == SBN_F32 ? 4 : 2), row = sizeof(float) * p->channels;
    sbn_buffer *const tensors[] = {&shard->x, &shard->y, &shard->dy, &shard->dx};
    sbn_buffer *const rows[] = {&shard->weight, &shard->bias, &shard->weight_grad,
                                &shard->bias_grad};
    for (size_t i = 0; i < 4 && !failed; ++i)
        tensors[i]->mem = make_buffer(s, replica, i, bytes, &failed);
    for (size_t i = 0; i < 4 && !failed; ++i)
        rows[i]->mem = make_buffer(s, replica, 4 + i, row, &failed);
    if (p->residual && !failed)
        shard->residual.mem = make_buffer(s, replica, 8, bytes, &failed);
    return failed;
}

static int open_queues(setting *s, const spread *of, cl_command_queue_properties properties)
{
    cl_int code = CL_SUCCESS;
    s->replicas = of->replicas;
    for (size_t r = 0; r < of->replicas && !code; ++r) {
        const int same = of->replicas == 1 || of->devices[0] == of->devices[1];
        if (r > 0 && !of->apart) {
            s->contexts[r] = s->contexts[0];
            clRetainContext(s->contexts[r]);
        } else {
            s->contexts[r] = clCreateContext(NULL, of->apart || same ? 1 : 2, &of->devices[r], NULL,
                                             NULL, &code);
        }
        if (!code)
            s->queues[r] = clCreateCommandQueue(s->contexts[r], of->devices[r], properties, &code);
    }
    return code ? fail("making a context and a queue", code) : 0;
}

static int make_group(setting *s, const char *cache)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = s->queues;
    config.replicas = s->replicas;
    config.form = form;
    config.program_cache = cache;
    const int status = sbn_group_create(&config, &s->group);
    return status ? fail("sbn_group_create", status) : 0;
}

static int make_layer(setting *s, const problem *p)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.channels = p->channels;
    config.layout = p->layout;
    config.type = p->type;
    config.activation = p->activation;
    config.residual = p->residual;
    int status = sbn_batchnorm_create(s->group, &config, &s->layer);
    if (!status)
        status = sbn_saved_create(s->layer, &s->saved);
    return status ? fail("sbn_batchnorm_create", status) : 0;
}

/* What a problem has made. */
static void close_layer(setting *s)
{
    sbn_saved_destroy(s->saved);
    sbn_batchnorm_destroy(s->layer);
    s->saved = NULL;
    s->layer = NULL;
    for (size_t r = 0; r < s->replicas; ++r)
        for (size_t i = 0; i < BUFFERS; ++i)
            if (s->buffers[r][i]) {
                clReleaseMemObject(s->buffers[r][i]);
                s->buffers[r][i] = NULL;
            }
}

static void close_setting(setting *s)
{
    close_layer(s);
    sbn_group_destroy(s->group);
    for (size_t r = 0; r < s->replicas; ++r) {
        if (s->queues[r])
            clReleaseCommandQueue(s->queues[r]);
        if (s->contexts[r])
            clReleaseContext(s->contexts[r]);
    }
}

static int finish(setting *s)
{
    cl_int code = CL_SUCCESS;
    for (size_t r = 0; r < s->replicas && !code; ++r)
        code = clFinish(s->queues[r]);
    return code ? fail("clFinish", code) : 0;
}

static int pass(setting *s, int is_backward)
{
    const int status = is_backward ? sbn_backward(s->layer, s->shards, s->saved, 0, NULL)
                                   : sbn_forward(s->layer, s->shards, s->saved, 0, NULL);
    return status ? fail(is_backward ? "sbn_backward" : "sbn_forward", status) : 0;
}

/* --- building ----------------------------------------------------------------------- */

static int time_builds(const spread *one, const char *cache)
{
    static const char *const what[] = {"f32", "f32, ReLU", "f32, residual and ReLU", "f16"};
    static const char *const which[] = {"without compiled programs", "with them"};
    for (int kept = 0; kept < 2; ++kept) {
        setting s = {0};
        int failed = open_queues(&s, one, 0);
        for (int i = 0; i < 4 && !failed; ++i) {
            const problem p = {.channels = 1,
                               .type = i == 3 ? SBN_F16 : SBN_F32,
                               .activation = i == 1 || i == 2 ? SBN_RELU : SBN_IDENTITY,
                               .residual = i == 2};
            const double start = sbn__seconds();
            if (i == 0)
                failed = make_group(&s, cache);
            if (!failed)
                failed = make_layer(&s, &p);
            printf("build: %s, %s: %.3f s\n", what[i], which[kept], sbn__seconds() - start);
            close_layer(&s);
        }
        close_setting(&s);
        if (failed)
            return 1;
    }
    return 0;
}

/* --- passes ------------------------------------------------------------------------- */

static double at(const command *c, cl_profiling_info what)
{
    cl_ulong ns = 0;
    clGetEventProfilingInfo(c->event, what, sizeof ns, &ns, NULL);
    return 1e-3 * (double)ns;
}

/* Of each command, over all passes: when it started, how long it took, and the gap before it. */
typedef struct timeline {
    size_t count, passes;
    double start[MOST_COMMANDS][PROFILED], took[MOST_COMMANDS][PROFILED];
    double gap[MOST_COMMANDS][PROFILED], kernels[PROFILED], gaps[PROFILED], span[PROFILED];
} timeline;

/* Replicas' clocks are the same only on one device, and so are starts. */
static void add_pass(timeline *t)
{
    const size_t n = t->passes++;
    double first = 0.0, last = 0.0;
    t->count = command_count;
    t->kernels[n] = t->gaps[n] = 0.0;
    for (size_t i = 0; i < command_count; ++i) {
        const double start = at(&commands[i], CL_PROFILING_COMMAND_START);
        const double end = at(&commands[i], CL_PROFILING_COMMAND_END);
        size_t before = i;
        while (before > 0 && commands[before - 1].queue != commands[i].queue)
            --before;
        first = i == 0 || start < first ? start : first;
        last = i == 0 || end > last ? end : last;
        t->start[i][n] = start;
        t->took[i][n] = end - start;
        t->gap[i][n] = before > 0 ? start - at(&commands[before - 1], CL_PROFILING_COMMAND_END)
                                  : 0.0;
        t->kernels[n] += t->took[i][n];
        t->gaps[n] += t->gap[i][n];
    }
    for (size_t i = 0; i < command_count; ++i)
        t->start[i][n] -= first;
    t->span[n] = last - first;
}

static void forget_commands(void)
{
    for (size_t i = 0; i < command_count; ++i)
        clReleaseEvent(commands[i].event);
    command_count = 0;
}

static int profile(setting *s, int is_backward, const char *what)
{
    static timeline t;
    static command names[MOST_COMMANDS];
    int failed = 0;
    t.passes = 0;
    for (int i = 0; i < PROFILED && !failed; ++i) {
        records = 1;
        failed = pass(s, is_backward);
        records = 0;
        failed = failed || finish(s);
        if (!failed)
            add_pass(&t);
        memcpy(names, commands, sizeof *commands * command_count);
        forget_commands();
    }
    if (failed)
        return 1;
    printf(
        "pass: %s: %zu commands, kernels %.2f us, gaps %.2f, from first start to last end %.2f\n",
        what, t.count, median(t.kernels, PROFILED), median(t.gaps, PROFILED),
        median(t.span, PROFILED));
    for (size_t i = 0; i < t.count; ++i)
        printf("  %-32s replica %d: start %9.2f, took %9.2f, gap before %8.2f\n", names[i].name,
               names[i].queue != s->queues[0], median(t.start[i], PROFILED),
               median(t.took[i], PROFILED), median(t.gap[i], PROFILED));
    return 0;
}

static int in_a_row(setting *s, int is_backward, const char *what)
{
    double host[ROWS], all[ROWS];
    for (int row = 0; row < ROWS; ++row) {
        const double start = sbn__seconds();
        for (int i = 0; i < IN_A_ROW; ++i)
            if (pass(s, is_backward))
                return 1;
        host[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
        if (finish(s))
            return 1;
        all[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
    }
    printf("row: %s: %.2f us of the host, %.2f a pass\n", what, median(host, ROWS),
           median(all, ROWS));
    return 0;
}

static int time_problem(setting *s, const spread *of, const problem *p, const char *line,
                        int profiles)
{
    int failed = make_layer(s, p);
    for (size_t r = 0; r < s->replicas && !failed; ++r)
        failed = make_shard(s, r, p);
    for (int i = 0; i < WARM_UP && !failed; ++i)
        failed = pass(s, 0) || pass(s, 1);
    for (int is_backward = 0; is_backward < 2 && !failed; ++is_backward) {
        char what[PROBLEM_LINE + 64];
        snprintf(what, sizeof what, "%s, %s, %s", line, of->name,
                 is_backward ? "backward" : "forward");
        failed = finish(s) ||
                 (profiles ? profile(s, is_backward, what) : in_a_row(s, is_backward, what));
    }
    failed = failed || finish(s);
    close_layer(s);
    return failed;
}

static int time_lines(setting *s, const spread *of, FILE *file, int profiles)
{
    char line[PROBLEM_LINE], error[256];
    int failed = 0;
    while (!failed && fgets(line, sizeof line, file)) {
        problem p;
        line[strcspn(line, "\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (problem_parse(line, &p, error, sizeof error)) {
            fprintf(stderr, "launches: %s: %s\n", line, error);
            return 1;
        }
        failed = time_problem(s, of, &p, line, profiles);
    }
    return failed;
}

static int time_list(const spread *of, const char *path, const char *cache)
{
    FILE *file = fopen(path, "r");
    int failed = !file;
    if (!file)
        perror(path);
    for (int profiles = 0; profiles < 2 && !failed; ++profiles) {
        setting s = {0};
        rewind(file);
        failed = open_queues(&s, of, profiles ? CL_QUEUE_PROFILING_ENABLE : 0) ||
                 make_group(&s, cache) || time_lines(&s, of, file, profiles);
        close_setting(&s);
    }
    if (file)
        fclose(file);
    return failed;
}

static int print_device(const device_list *list, size_t number, const char *cache, const char *path)
{
    const device_info *d = &list->device[number];
    const spread one = {"one replica", 1, {d->id}, 0};
    const spread two = {"two replicas of one context", 2, {d->id, d->id}, 0};
    const spread apart = {"two replicas, a context each", 2, {d->id, d->id}, 1};
    cl_int code;
    printf("device %zu: %s, driver %s\n", number, d->name, d->driver);
    cl_context context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (code)
        return fail("clCreateContext", code);
    int failed = latencies_print(context, d->id);
    clReleaseContext(context);
    failed = failed || time_builds(&one, cache) || time_list(&one, path, cache) ||
             time_list(&two, path, cache) || time_list(&apart, path, cache);
    /* The next device of the same kind, where there is one. */
    for (size_t i = number + 1; i < list->devices && !failed; ++i) {
        const device_info *other = &list->device[i];
        if (!other->usable || other->platform != d->platform || strcmp(other->name, d->name) != 0)
            continue;
        const spread devices = {"two devices of one context", 2, {d->id, other->id}, 0};
        const spread contexts = {"two devices, a context each", 2, {d->id, other->id}, 1};
        return time_list(&devices, path, cache) || time_list(&contexts, path, cache);
    }
    return failed;
}

int main(int argc, char **argv)
{
    device_list list;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && strcmp(argv[1], "--form") == 0) {
        form = strcmp(argv[2], "gpu") == 0 ? SBN_FORM_GPU : SBN_FORM_AUTO;
        argc -= 2;
        argv += 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: launches [--form FORM] FOLDER LIST [TYPE]\n");
        return 2;
    }
    const int status = devices_list(&list);
    if (status)
        return fail("listing the devices", status);
    int failed = 0;
    for (size_t i = 0; i < list.devices; ++i)
        if (list.device[i].usable && (argc < 4 || strcmp(argv[3], list.device[i].type) == 0))
            failed |= print_device(&list, i, argv[1], argv[2]);
    devices_free(&list);
    return failed;
}
