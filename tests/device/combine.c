/*
 * The kernels that combine (cl/combine_*.cl) against the host (src/exact/statistics.h): accumulators
 * of all kinds, in both formats and both forms of the kernels, and without doubles, must give the
 * host's bits.
 */
#include "device/combine.h"
#include "device/commands.h"
#include "program/programs.h"
#include "support/fixture.h"

static fixture device;
static cl_command_queue queue;
static rows from_device, expected;

static cl_mem buffer_of(size_t size, void *contents)
{
    cl_int code;
    cl_mem mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size,
                                contents, &code);
    must(code, "clCreateBuffer");
    return mem;
}

static void read_back(cl_mem mem, size_t size, void *to)
{
    must(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, size, to, 0, NULL, NULL), "read");
    clReleaseMemObject(mem);
}

static void set(cl_kernel kernel, const sbn_argument *arguments, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        must(clSetKernelArg(kernel, (cl_uint)i, arguments[i].size, arguments[i].value), "argument");
}

static void launch(cl_kernel kernel, sbn_kernel_form form)
{
    const sbn_form_sizes *sizes = sbn__form_sizes(form);
    const size_t span = (size_t)(sizes->combine_items * sizes->combine_span);
    const size_t local = (size_t)sizes->combine_items;
    const size_t global = (CHANNELS + span - 1) / span * local;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
}

typedef struct trial {
    uint64_t count;
    sbn_eps eps;
    double weight;
    int flag; /* forward: track; backward: the gradients are of source 1 alone */
} trial;

static const trial trials[] = {
    {5, {1e-5, 0}, 0.1, 1},
    {2, {0.0, 0}, 1.0, 1},
    {UINT64_C(1) << 37, {1e-30, 0}, 1.0 / 3, 1},
    {12544 * 32 + 1, {1e-5, 1}, 0.1, 0},
};

static cl_mem sources[SOURCES], repeat, moments, table, running;

static void open_buffers(const sums *s, int backward)
{
    for (int i = 0; i < SOURCES; ++i)
        sources[i] = buffer_of(sizeof(int64_t) * CHANNELS * s->length * MOST_SLICES, s->of[i]);
    repeat = buffer_of(CHANNELS, expected.repeat);
    moments = buffer_of(sizeof expected.moments, expected.moments);
    table = backward ? buffer_of(sizeof expected.gradients, expected.gradients)
                     : buffer_of(sizeof expected.coefficients, expected.coefficients);
    running = buffer_of(sizeof expected.running + sizeof expected.batches, expected.running);
}

static void close_buffers(int backward)
{
    for (int i = 0; i < SOURCES; ++i)
        clReleaseMemObject(sources[i]);
    read_back(repeat, CHANNELS, from_device.repeat);
    read_back(moments, sizeof from_device.moments, from_device.moments);
    read_back(table, backward ? sizeof from_device.gradients : sizeof from_device.coefficients,
              backward ? from_device.gradients : from_device.coefficients);
    read_back(running, sizeof from_device.running + sizeof from_device.batches,
              from_device.running);
}

#define SOURCE(i) SBN_ARG(sources[i]), SBN_ARG(s->slices[i])

static void run(cl_kernel kernel, sbn_kernel_form form, const sums *s, const trial *t, int backward)
{
    const cl_uint channels = CHANNELS, clamps = (cl_uint)t->eps.clamp;
    const cl_uint flag = (cl_uint)t->flag, own_slices = s->slices[1];
    const cl_ulong count = t->count;
    const double unbiased = (double)t->count / (double)(t->count - 1);
    const cl_long batches = 17;
    const cl_ulong means_offset = 0, vars_offset = CHANNELS;
    const sbn_argument forward_arguments[] = {
        SOURCE(0),
        SOURCE(1),
        SOURCE(2),
        SOURCE(3),
        SBN_ARG(channels),
        SBN_ARG(repeat),
        SBN_ARG(count),
        SBN_ARG(t->eps.eps),
        SBN_ARG(clamps),
        SBN_ARG(table),
        SBN_ARG(moments),
        SBN_ARG(running),
        SBN_ARG(means_offset),
        SBN_ARG(running),
        SBN_ARG(vars_offset),
        SBN_ARG(running),
        SBN_ARG(flag),
        SBN_ARG(flag),
        SBN_ARG(t->weight),
        SBN_ARG(unbiased),
        SBN_ARG(batches),
    };
    const sbn_argument backward_arguments[] = {
        SOURCE(0),           SOURCE(1),        SOURCE(2),      SOURCE(3),
        SBN_ARG(channels),   SBN_ARG(repeat),  SBN_ARG(count), SBN_ARG(t->eps.eps),
        SBN_ARG(clamps),     SBN_ARG(moments), SBN_ARG(table), SBN_ARG(sources[1]),
        SBN_ARG(own_slices), SBN_ARG(flag),
    };
    open_buffers(s, backward);
    if (backward)
        set(kernel, backward_arguments, sizeof backward_arguments / sizeof *backward_arguments);
    else
        set(kernel, forward_arguments, sizeof forward_arguments / sizeof *forward_arguments);
    launch(kernel, form);
    close_buffers(backward);
}

static void check(const sbn_program *program, int format, int backward)
{
    const sbn_format *f = backward ? sbn__backward_format(format) : sbn__forward_format(format);
    cl_int code;
    cl_kernel kernel = clCreateKernel(program->programs[sbn__program_of(backward, format)],
                                      backward ? "backward_combine" : "forward_combine", &code);
    must(code, "clCreateKernel");
    sums s;
    sums_open(&s, f);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; ++i) {
        const trial *t = &trials[i];
        sums_fill(&s);
        rows_fill(&expected, f);
        from_device = expected;
        run(kernel, program->form, &s, t, backward);
        if (backward)
            expect_backward(&expected, &s, t->count, t->eps, t->flag);
        else
            expect_forward(&expected, &s, t->count, t->eps, t->weight, t->flag);
        tap_ok(rows_equal(&from_device, &expected), "%s form%s, %s %s: %llu values, eps %g%s",
               program->form == SBN_FORM_CPU ? "CPU" : "GPU",
               *program->options ? ", without doubles" : "", f->wide ? "wide" : "narrow",
               backward ? "backward" : "forward", (unsigned long long)t->count, t->eps.eps,
               t->eps.clamp ? ", clamped" : "");
    }
    sums_close(&s);
    clReleaseKernel(kernel);
}

int main(void)
{
    static const struct {
        sbn_kernel_form form;
        const char *options;
    } programs[] = {{SBN_FORM_CPU, ""}, {SBN_FORM_GPU, ""}, {SBN_FORM_GPU, "-D NO_DOUBLES"}};
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
        sbn_program *program;
        const sbn_program wanted = {.context = device.context,
                                    .device = device.device,
                                    .form = programs[i].form,
                                    .type = SBN_F32,
                                    .options = programs[i].options};
        must(sbn__program_acquire(&wanted, "", &program), "programs");
        for (int format = 0; format < SBN_FORMATS; ++format)
            for (int backward = 0; backward < 2; ++backward)
                check(program, format, backward);
        sbn__program_release(program);
    }
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
