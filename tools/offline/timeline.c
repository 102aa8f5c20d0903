#include "offline/timeline.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_COMMANDS = 256 };

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

static double at(const command *c, cl_profiling_info what)
{
    cl_ulong ns = 0;
    clGetEventProfilingInfo(c->event, what, sizeof ns, &ns, NULL);
    return 1e-3 * (double)ns;
}

/* Of each command, over all passes: when it started, how long it took, and the gap before it. */
static struct {
    size_t count, passes;
    double start[MOST_COMMANDS][TIMELINE_PASSES], took[MOST_COMMANDS][TIMELINE_PASSES];
    double gap[MOST_COMMANDS][TIMELINE_PASSES], kernels[TIMELINE_PASSES], gaps[TIMELINE_PASSES],
        span[TIMELINE_PASSES];
} all;

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return count ? values[count / 2] : 0.0;
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
    const size_t n = all.passes;
    double first = 0.0, last = 0.0;
    records = 0;
    if (failed)
        return failed;
    ++all.passes;
    all.count = command_count;
    all.kernels[n] = all.gaps[n] = 0.0;
    for (size_t i = 0; i < command_count; ++i) {
        const double start = at(&commands[i], CL_PROFILING_COMMAND_START);
        const double end = at(&commands[i], CL_PROFILING_COMMAND_END);
        size_t before = i;
        while (before > 0 && commands[before - 1].queue != commands[i].queue)
            --before;
        first = i == 0 || start < first ? start : first;
        last = i == 0 || end > last ? end : last;
        all.start[i][n] = start;
        all.took[i][n] = end - start;
        all.gap[i][n] = before > 0 ? start - at(&commands[before - 1], CL_PROFILING_COMMAND_END)
                                   : 0.0;
        all.kernels[n] += all.took[i][n];
        all.gaps[n] += all.gap[i][n];
    }
    for (size_t i = 0; i < command_count; ++i)
        all.start[i][n] -= first;
    all.span[n] = last - first;
    return 0;
}

void timeline_print(const char *what, cl_command_queue first)
{
    printf(
        "pass: %s: %zu commands, kernels %.2f us, gaps %.2f, from first start to last end %.2f\n",
        what, all.count, median(all.kernels, all.passes), median(all.gaps, all.passes),
        median(all.span, all.passes));
    for (size_t i = 0; i < all.count; ++i)
        printf("  %-32s replica %d: start %9.2f, took %9.2f, gap before %8.2f\n", commands[i].name,
               commands[i].queue != first, median(all.start[i], all.passes),
               median(all.took[i], all.passes), median(all.gap[i], all.passes));
    all.passes = 0;
}
