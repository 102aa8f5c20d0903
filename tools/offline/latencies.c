#include "offline/latencies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

enum { LAUNCHES = 100, ROUNDS = 15, COPIES = 50, MOST = LAUNCHES * ROUNDS };

/* Ways to enqueue kernels in a row. */
typedef enum way { ALONE, EVENTS, LISTS, ASKED, FLUSHED, WAYS } way;

static const char *const ways[WAYS] = {
    "without an event",
    "with an event",
    "waiting for the event before",
    "asked for its state",
    "with a flush behind each",
};

static cl_int failed;

/* Keeps the first error. */
static void keep(cl_int code, const char *what)
{
    if (code && !failed) {
        failed = code;
        fprintf(stderr, "launches: %s: %s\n", what, sbn_strerror(code));
    }
}

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

static cl_kernel make_kernel(cl_context context, cl_device_id device, cl_mem *buffer)
{
    static const char *text = "kernel void nothing(global int *p) { if (p[0] != 0) p[0] = 0; }";
    const cl_int zero = 0;
    cl_int code;
    cl_program program = clCreateProgramWithSource(context, 1, &text, NULL, &code);
    keep(code, "clCreateProgramWithSource");
    if (!code)
        keep(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    cl_kernel kernel = failed ? NULL : clCreateKernel(program, "nothing", &code);
    keep(code, "clCreateKernel");
    *buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof zero,
                             &(cl_int){zero}, &code);
    keep(code, "clCreateBuffer");
    if (!failed)
        keep(clSetKernelArg(kernel, 0, sizeof *buffer, buffer), "clSetKernelArg");
    if (program)
        clReleaseProgram(program);
    return kernel;
}

/* A row of kernels; their events are the caller's, where there are any. */
static void enqueue(cl_command_queue queue, cl_kernel kernel, way how, cl_event *events)
{
    const size_t items = 1;
    for (int i = 0; i < LAUNCHES && !failed; ++i) {
        const cl_uint count = how == LISTS && i > 0;
        cl_int state;
        keep(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, count,
                                    count ? &events[i - 1] : NULL,
                                    how == ALONE ? NULL : &events[i]),
             "clEnqueueNDRangeKernel");
        if (how == ASKED)
            keep(clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                                NULL),
                 "clGetEventInfo");
        if (how == FLUSHED)
            keep(clFlush(queue), "clFlush");
    }
}

static void release(way how, cl_event *events)
{
    for (int i = 0; how != ALONE && i < LAUNCHES; ++i)
        if (events[i])
            clReleaseEvent(events[i]);
    memset(events, 0, sizeof *events * LAUNCHES);
}

static double seconds_of(cl_event event, cl_profiling_info what)
{
    cl_ulong ns = 0;
    keep(clGetEventProfilingInfo(event, what, sizeof ns, &ns, NULL), "clGetEventProfilingInfo");
    return 1e-9 * (double)ns;
}

static void time_rows(cl_command_queue plain, cl_command_queue profiled, cl_kernel kernel)
{
    static cl_event events[LAUNCHES];
    static double host[ROUNDS], all[ROUNDS], gaps[MOST], kernels[MOST];
    for (way how = ALONE; how < WAYS && !failed; ++how) {
        size_t count = 0;
        for (int round = 0; round < ROUNDS && !failed; ++round) {
            const double start = sbn__seconds();
            enqueue(plain, kernel, how, events);
            host[round] = 1e6 * (sbn__seconds() - start) / LAUNCHES;
            keep(clFinish(plain), "clFinish");
            all[round] = 1e6 * (sbn__seconds() - start) / LAUNCHES;
            release(how, events);
            if (how == ALONE)
                continue;
            enqueue(profiled, kernel, how, events);
            keep(clFinish(profiled), "clFinish");
            for (int i = 1; i < LAUNCHES && !failed; ++i) {
                gaps[count] = 1e6 * (seconds_of(events[i], CL_PROFILING_COMMAND_START) -
                                     seconds_of(events[i - 1], CL_PROFILING_COMMAND_END));
                kernels[count++] = 1e6 * (seconds_of(events[i], CL_PROFILING_COMMAND_END) -
                                          seconds_of(events[i], CL_PROFILING_COMMAND_START));
            }
            release(how, events);
        }
        printf("latency: an empty kernel %s: %.2f us of the host, %.2f in all", ways[how],
               median(host, ROUNDS), median(all, ROUNDS));
        if (count > 0)
            printf("; on the device %.2f, gap %.2f", median(kernels, count), median(gaps, count));
        printf("\n");
    }
}

/* One call behind a kernel that has been enqueued. */
static void time_calls(cl_command_queue queue, cl_kernel kernel)
{
    static const char *const calls[] = {"a question for a state", "a flush", "a wait", "a finish"};
    double times[COPIES];
    for (int which = 0; which < 4 && !failed; ++which) {
        for (int i = 0; i < COPIES && !failed; ++i) {
            const size_t items = 1;
            cl_event event = NULL;
            cl_int state;
            keep(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &items, NULL, 0, NULL, &event),
                 "clEnqueueNDRangeKernel");
            const double start = sbn__seconds();
            switch (which) {
            case 0:
                keep(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                                    NULL),
                     "clGetEventInfo");
                break;
            case 1: keep(clFlush(queue), "clFlush"); break;
            case 2: keep(clWaitForEvents(1, &event), "clWaitForEvents"); break;
            default: keep(clFinish(queue), "clFinish"); break;
            }
            times[i] = 1e6 * (sbn__seconds() - start);
            keep(clFinish(queue), "clFinish");
            if (event)
                clReleaseEvent(event);
        }
        printf("latency: %s behind a kernel: %.2f us\n", calls[which], median(times, COPIES));
    }
}

static void time_copies(cl_context context, cl_command_queue queue, size_t size, int pinned)
{
    double times[2][COPIES];
    cl_int code;
    cl_mem buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, size, NULL, &code), staging = NULL;
    keep(code, "clCreateBuffer");
    void *host = NULL;
    if (pinned && !failed) {
        staging = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR, size, NULL,
                                 &code);
        keep(code, "clCreateBuffer");
        host = failed ? NULL
                      : clEnqueueMapBuffer(queue, staging, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                           size, 0, NULL, NULL, &code);
        keep(code, "clEnqueueMapBuffer");
    } else {
        host = malloc(size);
    }
    for (int i = 0; i < COPIES && host && !failed; ++i) {
        memset(host, i, size);
        double start = sbn__seconds();
        keep(clEnqueueWriteBuffer(queue, buffer, CL_TRUE, 0, size, host, 0, NULL, NULL),
             "clEnqueueWriteBuffer");
        times[0][i] = 1e6 * (sbn__seconds() - start);
        start = sbn__seconds();
        keep(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, size, host, 0, NULL, NULL),
             "clEnqueueReadBuffer");
        times[1][i] = 1e6 * (sbn__seconds() - start);
    }
    if (host && !failed)
        printf("latency: %zu bytes, %s memory of the host: write %.2f us, read %.2f\n", size,
               pinned ? "mapped" : "plain", median(times[0], COPIES), median(times[1], COPIES));
    if (staging && host) {
        clEnqueueUnmapMemObject(queue, staging, host, 0, NULL, NULL);
        clFinish(queue);
    } else {
        free(host);
    }
    if (staging)
        clReleaseMemObject(staging);
    if (buffer)
        clReleaseMemObject(buffer);
}

int latencies_print(cl_context context, cl_device_id device)
{
    cl_int code;
    cl_mem buffer = NULL;
    failed = CL_SUCCESS;
    cl_command_queue plain = clCreateCommandQueue(context, device, 0, &code);
    keep(code, "clCreateCommandQueue");
    cl_command_queue profiled = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE,
                                                     &code);
    keep(code, "clCreateCommandQueue");
    cl_kernel kernel = failed ? NULL : make_kernel(context, device, &buffer);
    if (!failed)
        time_rows(plain, profiled, kernel);
    if (!failed)
        time_calls(plain, kernel);
    for (int i = 0; i < 4 && !failed; ++i)
        time_copies(context, plain, i < 2 ? 4096 : 131072, i & 1);
    if (kernel)
        clReleaseKernel(kernel);
    if (buffer)
        clReleaseMemObject(buffer);
    if (profiled)
        clReleaseCommandQueue(profiled);
    if (plain)
        clReleaseCommandQueue(plain);
    return failed != CL_SUCCESS;
}
