/*
 * The benchmark does not time what is wrong: every kernel, every copy and every primitive of oneDNN that its
 * checks ask for is in turn not run, and the sentences name all contenders whose results are wrong then.
 */
#include <stdio.h>
#include <string.h>

#ifdef HAVE_DNNL
#include <dnnl.h>
#endif

#include "bench/bench.h"
#include "support/main.h"
#include "support/trial.h"
#include "support/wraps.h"

/* --- commands that are asked for and not run ------------------------------------------ */

/* How many there have been in a run, and the one that is not run; -1: all are. */
static long commands, skipped;

/* In place of a command: what waits for it goes on. */
static cl_int nothing(cl_command_queue on, cl_uint num_wait, const cl_event *wait_list,
                      cl_event *event)
{
    return event ? clEnqueueMarkerWithWaitList(on, num_wait, wait_list, event) : CL_SUCCESS;
}

#define WRAP_COMMAND(result, f, instead, parameters, arguments) \
    WRAP(result, f, parameters) \
    { \
        return commands++ == skipped ? instead : __real_##f arguments; \
    }

WRAP_COMMAND(cl_int, clEnqueueNDRangeKernel, nothing(on, num_wait, wait_list, event),
             (cl_command_queue on, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
              const size_t *global, const size_t *local, cl_uint num_wait,
              const cl_event *wait_list, cl_event *event),
             (on, kernel, dimensions, offset, global, local, num_wait, wait_list, event))

WRAP_COMMAND(cl_int, clEnqueueCopyBuffer, nothing(on, num_wait, wait_list, event),
             (cl_command_queue on, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
              size_t size, cl_uint num_wait, const cl_event *wait_list, cl_event *event),
             (on, from, to, from_offset, to_offset, size, num_wait, wait_list, event))

#ifdef HAVE_DNNL
WRAP_COMMAND(dnnl_status_t, dnnl_primitive_execute, dnnl_success,
             (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
              const dnnl_exec_arg_t *list),
             (primitive, stream, count, list))
#endif

WRAP(int, nanosleep, (const struct timespec *pause, struct timespec *left))
{
    return (void)pause, (void)left, 0; /* nothing is timed: threads may spin */
}

/* --- what the benchmark makes of it --------------------------------------------------- */

static int run(const bench *b, const char *line, long skip, char error[RUNNER_ERROR])
{
    static bench_result result;
    problem p;
    must(problem_parse(line, &p, error, RUNNER_ERROR), line);
    skipped = skip;
    commands = 0;
    bench_run(b, &p, &result);
    memcpy(error, result.error, RUNNER_ERROR);
    return result.ok;
}

enum { NAMES = 10 };

/* What wrong results must be told by; sentences begin so. */
static const struct {
    const char *line, *names[NAMES];
} faults[] = {
    {"mb4ic8ih6iw7",
     {"plain: y is not x", "vector: y is not x", "nontemporal: y is not x",
      "clEnqueueCopyBuffer: y is not x", "syncbn: evaluated", "unordered: y", "unordered: dx",
      "synchronised: ", "apart: "}},
    {"mb4ic8ih6iw7,last", {"unordered: y", "unordered: dx"}},
    {"mb4ic8ih6iw7,bf16", {"plain: y is not x", "syncbn: evaluated", "f32: y"}},
    {"mb4ic8ih6iw7,leaky", {"norm alone: ", "separate: y", "separate: dx"}},
    {"mb4ic8ih6iw7,relu,add", {"separate: y", "separate: dx"}},
    {"mb4ic8ih6iw7,output", {"from x: "}},
    {"mb4ic8ih6iw7,pitch5", {"dense: "}},
#ifdef HAVE_DNNL
    {"mb4ic8ih6iw7,relu", {"onednn nchw: ", "onednn nhwc: "}},
#endif
};

/* The checks come last: what is not run before them changes no result. */
static void check_faults(const bench *b, size_t which)
{
    const char *line = faults[which].line, *const *names = faults[which].names;
    char error[RUNNER_ERROR];
    int seen[NAMES] = {0}, wrong = 0;
    run(b, line, -1, error);
    const long all = commands;
    for (long skip = all / 2; skip < all; ++skip) {
        if (run(b, line, skip, error))
            continue;
        ++wrong;
        for (int i = 0; i < NAMES && names[i]; ++i)
            seen[i] |= strncmp(error, names[i], strlen(names[i])) == 0;
    }
    for (int i = 0; i < NAMES && names[i]; ++i)
        tap_ok(seen[i], "%s: of %d runs that failed one says \"%s\"", line, wrong, names[i]);
}

/* Both forms of the benchmark's kernels, both layouts, sizes that no vector divides. */
static void check_right(const bench *b)
{
    static const char *const lines[] = {"mb4ic8ih6iw7", "mb4ic8ih6iw7,last", "mb3ic70ih5iw5,last",
                                        "mb33ic70", "mb5ic20ih9iw11", "mb6ic3ih40iw40",
                                        "mb3ic5ih17iw3,plain", "mb5ic300ih2iw2,last",
                                        /* Types, fusions and replicas of their own sizes. */
                                        "mb7ic8ih6iw7,split5-1-1", "mb4ic8ih6iw7,bf16,last",
                                        "mb3ic5ih17iw3,f16,plain", "mb5ic20ih9iw11,relu,last",
                                        "mb33ic70,relu,add", "mb3ic5ih17iw3,bf16,leaky,add,plain",
                                        "mb7ic8ih6iw7,add,split5-1-1"};
    char line[PROBLEM_LINE], error[RUNNER_ERROR];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i)
        for (int gpu = 0; gpu <= sample_has_gpu_form(lines[i]); ++gpu) {
            snprintf(line, sizeof line, "%s%s", lines[i], gpu ? ",form=gpu" : "");
            const int right = run(b, line, -1, error);
            tap_ok(right, "%s: expected no error, got \"%s\"", line, error);
        }
}

__attribute__((constructor)) static void begin(void)
{
    fixture_one_thread();
}

void checks(void)
{
    char error[RUNNER_ERROR];
    const device_info info = {.id = device.device, .type = "cpu", .form = SBN_FORM_CPU};
    const device_info *devices[] = {&info};
    bench b = {.devices = devices, .num_devices = 1, .budget = {.rounds = 1}};
    must(bench_open(&b, error), error);
    check_right(&b);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
        check_faults(&b, i);
    queues_close(b.queues);
}
