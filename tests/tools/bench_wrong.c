/*
 * The benchmark does not time what is wrong: every kernel of its own, every
 * copy, the library's passes and oneDNN's are in turn made to do nothing, or
 * the wrong thing, and each time the run must fail with a sentence that names
 * whose result it was. Linked with $(bench_wraps) of tests/local.mk.
 */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "support/fixture.h"

/* The planted fault: one of these, or none. */
static struct wrong {
    const char *kernel; /* the kernel of this name is not run */
    int copy;           /* clEnqueueCopyBuffer copies nothing */
    int evaluate;       /* sbn_evaluate does nothing */
    size_t forward;     /* sbn_forward over shards of so many samples does nothing */
    int other_layer;    /* sbn_forward of any layer but the first does nothing */
    int halves_alone;   /* sbn_forward of a layer of halves without an activation does nothing */
    size_t begin;       /* sbn_forward_begin over such shards takes dy for x */
    int onednn;         /* primitives with so many arguments are not run */
} wrong;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event)
{
    char name[64] = "";
    if (wrong.kernel) {
        must(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL),
             "clGetKernelInfo");
        if (strcmp(name, wrong.kernel) == 0)
            return CL_SUCCESS;
    }
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, num_wait,
                                         wait_list, event);
}

cl_int __real_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event)
{
    /* All but the last float: a copy that is nearly right. */
    return __real_clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset,
                                      size - (wrong.copy ? sizeof(float) : 0), num_wait, wait_list,
                                      event);
}

int __real_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);
int __wrap_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);
int __wrap_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards)
{
    return wrong.evaluate ? SBN_SUCCESS : __real_sbn_evaluate(layer, shards);
}

/* Whose forward passes a run had: the first layer, and the latest other. */
static const sbn_batchnorm *layers[2];

static int is_of_halves_alone(const sbn_batchnorm *layer)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_settings(layer, &config), "sbn_batchnorm_settings");
    return config.type == SBN_F16 && config.activation == SBN_IDENTITY;
}

int __real_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result);
int __wrap_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result);
int __wrap_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result)
{
    static int first, alone;
    if (wrong.other_layer && layer != layers[0] && layer == layers[1])
        return SBN_SUCCESS;
    if (wrong.other_layer)
        layers[layers[0] != NULL && layer != layers[0]] = layer;
    /* The first fills `saved`, without which backward would be an error. */
    if (wrong.halves_alone && is_of_halves_alone(layer) && alone++)
        return SBN_SUCCESS;
    if (wrong.forward && shards->shape[0] == wrong.forward && first++)
        return SBN_SUCCESS;
    return __real_sbn_forward(layer, shards, saved, flags, result);
}

int __real_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass);
int __wrap_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass);
int __wrap_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass)
{
    sbn_shard shard = *shards;
    if (wrong.begin && shard.shape[0] == wrong.begin) {
        shard.x = shard.dy;
        return __real_sbn_forward_begin(layer, &shard, saved, flags, pass);
    }
    return __real_sbn_forward_begin(layer, shards, saved, flags, pass);
}

#ifdef HAVE_DNNL
#include <dnnl.h>

dnnl_status_t __real_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments);
dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments);
dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments)
{
    return count == wrong.onednn
               ? dnnl_success
               : __real_dnnl_primitive_execute(primitive, stream, count, arguments);
}
#endif

/* One run with one thing wrong; `named` begins the sentence, or is NULL where all is right. */
static void check(bench *b, const char *line, const char *what, struct wrong how, const char *named)
{
    char error[RUNNER_ERROR];
    problem p;
    static bench_result result;
    must(problem_parse(line, &p, error, sizeof error), line);
    wrong = how;
    layers[0] = layers[1] = NULL;
    bench_run(b, &p, &result);
    wrong = (struct wrong){0};
    if (named) {
        tap_ok(!result.ok && strncmp(result.error, named, strlen(named)) == 0,
               "%s, %s: expected a sentence about %s, got \"%s\"", line, what, named, result.error);
    } else {
        tap_ok(result.ok, "%s, %s: expected no error, got \"%s\"", line, what, result.error);
    }
    bench_result_free(&result);
}

static void check_kernels(bench *b)
{
    static const struct {
        const char *line, *kernel, *named;
    } list[] = {
        {"mb4ic8ih6iw7", "copy_plain", "copy plain"},
        {"mb4ic8ih6iw7", "copy_vector", "copy vector"},
        {"mb4ic8ih6iw7", "copy_stream", "copy nontemporal"},
        {"mb4ic8ih6iw7", "whole_forward", "unordered"},
        {"mb4ic8ih6iw7", "whole_backward", "unordered: "},
        /* Fewer channels than work-items, which then share them. */
        {"mb4ic1ih6iw7", "planes_forward", "unordered"},
        {"mb4ic1ih6iw7", "finish_forward", "unordered"},
        {"mb4ic1ih6iw7", "planes_y", "unordered: y"},
        {"mb4ic1ih6iw7", "planes_backward", "unordered: "},
        {"mb4ic1ih6iw7", "finish_backward", "unordered: "},
        {"mb4ic1ih6iw7", "planes_dx", "unordered: dx"},
        {"mb4ic8ih6iw7", "baseline_forward", "baseline"},
        {"mb4ic8ih6iw7", "baseline_y", "baseline: y"},
        {"mb4ic8ih6iw7", "baseline_backward", "baseline: "},
        {"mb4ic8ih6iw7", "baseline_dx", "baseline: dx"},
        {"mb4ic8ih6iw7,last", "rows_forward", "unordered"},
        {"mb4ic8ih6iw7,last", "rows_y", "unordered: y"},
        {"mb4ic8ih6iw7,last", "rows_backward", "unordered: "},
        {"mb4ic8ih6iw7,last", "rows_dx", "unordered: dx"},
        {"mb4ic8ih6iw7,f16", "copy_vector", "copy vector"},
        {"mb3ic5ih17iw3,bf16", "copy_plain", "copy plain"},
        {"mb4ic8ih6iw7,add", "separate_add", "separate: y"},
        {"mb4ic8ih6iw7,relu", "separate_activation", "separate: y"},
        {"mb4ic8ih6iw7,relu,add", "separate_gradient", "separate: dx"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        check(b, list[i].line, list[i].kernel, (struct wrong){.kernel = list[i].kernel},
              list[i].named);
    }
}

/* Both forms of the benchmark's kernels, both layouts, sizes that no vector divides. */
static void check_right(bench *b)
{
    static const char *const lines[] = {
        "mb4ic8ih6iw7",
        "mb4ic8ih6iw7,last",
        "mb3ic70ih5iw5,last",
        "mb3ic130il3",
        "mb33ic70",
        "mb5ic20ih9iw11",
        "mb6ic3ih40iw40",
        "mb3ic5ih17iw3,plain",
        "mb5ic300ih2iw2,last",
        "mb7ic8ih6iw7,split5-1-1",
        "mb2ic64",
        "mb4ic8ih6iw7,f16",
        "mb4ic8ih6iw7,bf16,last",
        "mb3ic5ih17iw3,f16,plain",
        "mb33ic70,bf16",
        "mb7ic8ih6iw7,f16,last,split5-1-1",
        "mb4ic8ih6iw7,relu",
        "mb5ic20ih9iw11,relu,last",
        "mb33ic70,relu,add",
        "mb3ic5ih17iw3,bf16,leaky,add,plain",
        "mb7ic8ih6iw7,add,split5-1-1",
    };
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < sizeof lines / sizeof *lines; ++i) {
        check(b, lines[i], "nothing wrong", (struct wrong){0}, NULL);
        snprintf(line, sizeof line, "%s,form=gpu", lines[i]);
        check(b, line, "nothing wrong", (struct wrong){0}, NULL);
    }
}

#ifdef HAVE_DNNL
/* oneDNN has bf16 on some CPUs only: there its wrong results are refused too. */
static void check_onednn_bf16(bench *b)
{
    static const char line[] = "mb4ic8ih6iw7,bf16";
    static bench_result result;
    char error[RUNNER_ERROR];
    problem p;
    must(problem_parse(line, &p, error, sizeof error), line);
    bench_run(b, &p, &result);
    const int has = bench_onednn_fastest(&result, BENCH_FORWARD) != NULL;
    bench_result_free(&result);
    if (!has) {
        tap_note("oneDNN %s has no bf16 on this CPU", bench_onednn_version());
        return;
    }
    check(b, line, "oneDNN's forward", (struct wrong){.onednn = 6}, "onednn ");
    check(b, line, "oneDNN's backward", (struct wrong){.onednn = 9}, "onednn ");
}
#endif

static void check_all(const fixture *f)
{
    char error[RUNNER_ERROR];
    const device_info device = {.id = f->device, .type = "cpu", .form = SBN_FORM_CPU};
    const device_info *devices[] = {&device};
    const bench_config config = {.devices = devices, .num_devices = 1, .budget = {.rounds = 1}};
    bench *b;
    must(bench_open(&config, &b, error), error);
    tap_ok(bench_wire(b, BENCH_FORWARD)->messages == 2 &&
               bench_wire(b, BENCH_BACKWARD)->messages == 2 &&
               bench_wire(b, BENCH_FORWARD)->bytes_per_channel % sizeof(int64_t) == 0 &&
               bench_wire(b, BENCH_FORWARD)->bytes_per_channel > 0,
           "a header and a reduction of words: expected 2 messages, got %zu and %zu",
           bench_wire(b, BENCH_FORWARD)->messages, bench_wire(b, BENCH_BACKWARD)->messages);
    check_right(b);
    check_kernels(b);
    check(b, "mb4ic8ih6iw7", "clEnqueueCopyBuffer", (struct wrong){.copy = 1},
          "copy clEnqueueCopyBuffer: y is not x");
    check(b, "mb4ic8ih6iw7", "sbn_evaluate", (struct wrong){.evaluate = 1}, "syncbn: evaluated");
    check(b, "mb4ic8ih6iw7", "sbn_forward of two", (struct wrong){.forward = 2}, "synchronised: ");
    check(b, "mb4ic8ih6iw7,f16", "sbn_forward in f32", (struct wrong){.other_layer = 1}, "f32: y");
    check(b, "mb4ic8ih6iw7,f16,leaky", "sbn_forward alone", (struct wrong){.halves_alone = 1},
          "norm alone: y");
    check(b, "mb4ic8ih6iw7,bf16", "clEnqueueCopyBuffer", (struct wrong){.copy = 1},
          "copy clEnqueueCopyBuffer: y is not x");
    check(b, "mb4ic8ih6iw7,bf16", "sbn_evaluate", (struct wrong){.evaluate = 1},
          "syncbn: evaluated");
    check(b, "mb4ic8ih6iw7", "sbn_forward_begin of two", (struct wrong){.begin = 2}, "apart: ");
#ifdef HAVE_DNNL
    check(b, "mb4ic8ih6iw7", "oneDNN's forward", (struct wrong){.onednn = 6}, "onednn ");
    check(b, "mb4ic8ih6iw7", "oneDNN's backward", (struct wrong){.onednn = 9}, "onednn ");
    check(b, "mb4ic8ih6iw7,relu", "oneDNN's forward", (struct wrong){.onednn = 7}, "onednn ");
    check(b, "mb4ic8ih6iw7,relu", "oneDNN's backward", (struct wrong){.onednn = 10}, "onednn ");
    check_onednn_bf16(b);
#endif
    bench_close(b);
}

int main(void)
{
    fixture f;
    if (fixture_open(&f))
        return fixture_missing();
    check_all(&f);
    fixture_close(&f);
    return tap_done();
}
