#include "offline/timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/spread.h"

enum { MOST_COMMANDS = 256 };

/* In each pass: when it started, how long it took, and the gap before it. */
typedef struct command {
    char name[64];
    cl_command_queue queue;
    cl_event event;
    double start[TIMELINE_PASSES], took[TIMELINE_PASSES], gap[TIMELINE_PASSES];
} command;

static command commands[MOST_COMMANDS];
static size_t command_count;
static int records;

/* --- what a driver says of kernels ---------------------------------------------------------------- */

static struct {
    cl_kernel kernel;
    cl_program program;
} described[MOST_COMMANDS];
static size_t described_count;
static int describes;

static void print_kernel(cl_kernel kernel, cl_device_id device)
{
    char name[64] = "?";
    size_t items = 0, local[3] = {0, 0, 0}, multiple = 0;
    cl_ulong local_bytes = 0, private_bytes = 0;
    const struct {
        cl_kernel_work_group_info question;
        size_t size;
        void *answer;
    } ask[] = {
        {CL_KERNEL_WORK_GROUP_SIZE, sizeof items, &items},
        {CL_KERNEL_COMPILE_WORK_GROUP_SIZE, sizeof local, local},
        {CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE, sizeof multiple, &multiple},
        {CL_KERNEL_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes},
        {CL_KERNEL_PRIVATE_MEM_SIZE, sizeof private_bytes, &private_bytes},
    };
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    for (size_t i = 0; i < sizeof ask / sizeof *ask; ++i)
        clGetKernelWorkGroupInfo(kernel, device, ask[i].question, ask[i].size, ask[i].answer, NULL);
    printf("  %s: work-group %zu of at most %zu, multiple %zu, %llu B local, %llu B private\n",
           name, local[0] * local[1] * local[2], items, multiple, (unsigned long long)local_bytes,
           (unsigned long long)private_bytes);
}

static void print_log(cl_program program, cl_device_id device)
{
    size_t size = 0;
    clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *rest, *log = calloc(size + 1, 1);
    if (log && !clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL))
        for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
            printf("  log: %s\n", line);
    free(log);
}

static void describe(cl_kernel kernel, cl_command_queue queue)
{
    cl_device_id device = NULL;
    cl_program program = NULL;
    int is_known = 0;
    clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
    clGetKernelInfo(kernel, CL_KERNEL_PROGRAM, sizeof program, &program, NULL);
    for (size_t i = 0; i < described_count; ++i) {
        if (described[i].kernel == kernel)
            return;
        is_known |= described[i].program == program;
    }
    if (described_count == MOST_COMMANDS)
        return;
    described[described_count].kernel = kernel;
    described[described_count++].program = program;
    print_kernel(kernel, device);
    if (!is_known)
        print_log(program, device);
}

void timeline_describe(int on)
{
    describes = on;
    described_count = 0;
}

/* --- what is enqueued ----------------------------------------------------------------------------- */

static void record(const char *name, cl_kernel kernel, cl_command_queue queue,
                   const cl_event *event)
{
    if (describes && kernel)
        describe(kernel, queue);
    if (!records || !event || command_count == MOST_COMMANDS)
        return;
    command *c = &commands[command_count++];
    snprintf(c->name, sizeof c->name, "%s", name);
    if (kernel)
        clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof c->name, c->name, NULL);
    c->queue = queue;
    c->event = *event;
    clRetainEvent(*event);
}

/* All of these have a `queue`, `count` and `list` of what they wait for, and an `event`. */
#define WRAP(f, name, kernel, parameters, arguments) \
    cl_int __real_##f parameters; \
    cl_int __wrap_##f parameters; \
    cl_int __wrap_##f parameters \
    { \
        const cl_int code = __real_##f arguments; \
        if (code == CL_SUCCESS) \
            record(name, kernel, queue, event); \
        return code; \
    }
#define WAITS cl_uint count, const cl_event *list, cl_event *event

WRAP(clEnqueueNDRangeKernel, "?", kernel,
     (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
      const size_t *global, const size_t *local, WAITS),
     (queue, kernel, dimensions, offset, global, local, count, list, event))
WRAP(clEnqueueReadBuffer, "(read)", NULL,
     (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size, void *to,
      WAITS),
     (queue, buffer, blocking, offset, size, to, count, list, event))
WRAP(clEnqueueWriteBuffer, "(write)", NULL,
     (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset, size_t size,
      const void *from, WAITS),
     (queue, buffer, blocking, offset, size, from, count, list, event))
WRAP(clEnqueueMarkerWithWaitList, "(marker)", NULL, (cl_command_queue queue, WAITS),
     (queue, count, list, event))

static double at(const command *c, cl_profiling_info what)
{
    cl_ulong ns = 0;
    clGetEventProfilingInfo(c->event, what, sizeof ns, &ns, NULL);
    return 1e-3 * (double)ns;
}

/* Of all commands of each pass. */
static double kernels[TIMELINE_PASSES], gaps[TIMELINE_PASSES], span[TIMELINE_PASSES];
static size_t passes;

static double median(const double *values)
{
    return spread_of(values, passes).median;
}

void timeline_begin(void)
{
    for (size_t i = 0; i < command_count; ++i)
        clReleaseEvent(commands[i].event);
    command_count = 0;
    records = 1;
}

/* Replicas' clocks are the same only on one device, and so are starts. */
int timeline_end(int failed)
{
    const size_t n = passes;
    double first = INFINITY, last = 0.0;
    records = 0;
    if (failed) {
        passes = 0;
        return failed;
    }
    ++passes;
    kernels[n] = gaps[n] = 0.0;
    for (size_t i = 0; i < command_count; ++i) {
        command *c = &commands[i];
        const double end = at(c, CL_PROFILING_COMMAND_END);
        size_t before = i;
        while (before > 0 && commands[before - 1].queue != c->queue)
            --before;
        c->start[n] = at(c, CL_PROFILING_COMMAND_START);
        c->took[n] = end - c->start[n];
        c->gap[n] = before > 0 ? c->start[n] - at(&commands[before - 1], CL_PROFILING_COMMAND_END)
                               : 0.0;
        first = fmin(first, c->start[n]);
        last = fmax(last, end);
        kernels[n] += c->took[n];
        gaps[n] += c->gap[n];
    }
    for (size_t i = 0; i < command_count; ++i)
        commands[i].start[n] -= first;
    span[n] = last - first;
    return 0;
}

void timeline_print(const char *what, cl_command_queue first)
{
    printf(
        "pass: %s: %zu commands, kernels %.2f us, gaps %.2f, from first start to last end %.2f\n",
        what, command_count, median(kernels), median(gaps), median(span));
    for (const command *c = commands; c < commands + command_count; ++c)
        printf("  %-32s replica %d: start %9.2f, took %9.2f, gap before %8.2f\n", c->name,
               c->queue != first, median(c->start), median(c->took), median(c->gap));
    passes = 0;
}
