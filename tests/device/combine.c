/*
 * The kernels that combine (cl/combine_*.cl) against the host (src/exact/statistics.h): accumulators
 * of all kinds, in both formats and both forms of the kernels, must give the host's bits.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/kernel_constants.h"
#include "exact/statistics.h"
#include "support/fixture.h"

enum { CHANNELS = 1500, FIRST = 3, TOTAL = CHANNELS + 5, SOURCES = 4, MOST_SLICES = 3 };

static fixture device;
static cl_command_queue queue;
static uint64_t state;

static uint64_t next(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

/* The accumulators of all sources, as the reductions leave them, and what they add up to. */
typedef struct sums {
    const sbn_format *format;
    size_t length;
    uint32_t slices[SOURCES];
    int64_t *of[SOURCES], *all;
} sums;

static void sums_open(sums *s, const sbn_format *format)
{
    s->format = format;
    s->length = sbn__accumulator_length(format);
    for (int i = 0; i < SOURCES; ++i) {
        s->slices[i] = (uint32_t)(i == 2 ? 0 : i == 0 ? MOST_SLICES : 1);
        s->of[i] = calloc(CHANNELS * s->length, MOST_SLICES * sizeof(int64_t));
    }
    s->all = calloc(CHANNELS * s->length, sizeof(int64_t));
}

static void sums_close(sums *s)
{
    for (int i = 0; i < SOURCES; ++i)
        free(s->of[i]);
    free(s->all);
}

/* A term of `bits` bits at most, with a sign, to the limbs of a sum; above its top nothing. */
static void add_random(int64_t *limbs, int bits, int negative)
{
    const int top = 1 + (int)(next() % (uint64_t)bits);
    for (int k = 0; SBN_LIMB_BITS * k < top; ++k) {
        int64_t digit = (int64_t)(next() & ((UINT64_C(1) << SBN_LIMB_BITS) - 1));
        if (SBN_LIMB_BITS * (k + 1) > top)
            digit >>= SBN_LIMB_BITS * (k + 1) - top;
        /* Runs of ones and zeros carry far. */
        if (next() % 4 == 0)
            digit = next() % 2 ? 0
                               : (INT64_C(1) << (top - SBN_LIMB_BITS * k < SBN_LIMB_BITS
                                                     ? top - SBN_LIMB_BITS * k
                                                     : SBN_LIMB_BITS)) -
                                     1;
        limbs[k] += negative ? -digit : digit;
    }
}

/* value, a multiple of 2^-low. */
static void add_value(int64_t *limbs, int count, int low, double value)
{
    double rest = fabs(value);
    for (int k = count; k-- > 0;) {
        const double unit = ldexp(1.0, SBN_LIMB_BITS * k - low), limb = floor(rest / unit);
        rest -= limb * unit;
        limbs[k] += (int64_t)(value < 0.0 ? -limb : limb);
    }
}

/* The sums of values of this size, some of which nearly cancel in the variance. */
static void add_values(int64_t *accumulator, const sbn_format *f, double scale)
{
    const double mean = scale * (uniform() - 0.5) * (double)(next() % 3);
    for (int i = 0; i < 5; ++i) {
        const float x = (float)(mean + scale * 0x1p-10 * (uniform() - 0.5));
        add_value(accumulator, sbn__limbs1(f), f->low1, x);
        add_value(accumulator + sbn__limbs1(f), sbn__limbs2(f), f->low2, (double)x * x);
    }
}

static int64_t random_flags(size_t c)
{
    static const int64_t common[] = {0, SBN_FLAG_CLEAR, SBN_FLAG_CLEAR | SBN_FLAG_FAINT,
                                     SBN_FLAG_FAINT};
    return c % 3 ? common[next() % 4] : (int64_t)(next() % (1 << SBN_FLAGS));
}

/* Terms of one source and slice in channel c, of kind c mod 6. */
static void fill_one(int64_t *accumulator, const sbn_format *f, size_t c)
{
    const int limbs1 = sbn__limbs1(f), bits = f->bits1 + 25, bits2 = f->bits2 + 25;
    int64_t *second = accumulator + limbs1;
    switch (c % 6) {
    case 0: break; /* zeros */
    case 1: add_values(accumulator, f, 1.0); break;
    case 2: add_values(accumulator, f, f->wide ? ldexp(1.0, (int)(c % 200) - 100) : 0x1p12); break;
    case 3: /* one bit */
        accumulator[c % (size_t)limbs1] += 1;
        second[c % (size_t)sbn__limbs2(f)] += c % 4 < 2 ? 1 : -1;
        break;
    default:
        add_random(accumulator, bits, (int)(next() % 2));
        add_random(second, bits2, c % 6 == 4 ? 0 : (int)(next() % 2));
    }
    accumulator[sbn__accumulator_length(f) - 1] = random_flags(c);
}

static void sums_fill(sums *s)
{
    memset(s->all, 0, sizeof(int64_t) * CHANNELS * s->length);
    for (int i = 0; i < SOURCES; ++i)
        for (uint32_t k = 0; k < s->slices[i]; ++k) {
            int64_t *at = s->of[i] + k * CHANNELS * s->length;
            memset(at, 0, sizeof(int64_t) * CHANNELS * s->length);
            for (size_t c = 0; c < CHANNELS; ++c)
                fill_one(at + c * s->length, s->format, c);
            sbn__accumulators_add(at, s->format, CHANNELS, s->all);
        }
}

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
    const size_t span = (size_t)(sbn__combine_items(form) * sbn__combine_span(form));
    const size_t local = (size_t)sbn__combine_items(form);
    const size_t global = (TOTAL + span - 1) / span * local;
    must(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, NULL), "launch");
}

/* Of one kind: any two NaN are equal. */
static int same_doubles(const double *a, const double *b, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) {
            tap_note("[%zu] of %zu: expected %a, got %a", i, count, b[i], a[i]);
            return 0;
        }
    return 1;
}

static int same_floats(const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (memcmp(&a[i], &b[i], sizeof *a) && !(isnan(a[i]) && isnan(b[i]))) {
            tap_note("[%zu] of %zu: expected %a, got %a", i, count, (double)b[i], (double)a[i]);
            return 0;
        }
    return 1;
}

/* Everything that both passes write, of TOTAL channels a row. */
typedef struct rows {
    float coefficients[SBN_COEFFICIENT_ROWS * TOTAL], gradients[SBN_GRADIENT_ROWS * TOTAL];
    float running[2 * TOTAL];
    int64_t batches;
    double moments[SBN_MOMENT_ROWS * TOTAL];
    unsigned char repeat[TOTAL];
} rows;

static rows from_device, expected;

static void fill_rows(rows *r, const sbn_format *f)
{
    memset(r, 0x3e, sizeof *r);
    for (size_t c = 0; c < TOTAL; ++c) {
        r->running[c] = (float)c * 0.25f;
        r->running[TOTAL + c] = 1.0f + (float)c;
        /* What a backward pass reads. */
        r->moments[SBN_MOMENT_MEAN * TOTAL + c] = c % 7 ? 1.0 / (double)(c + 3) : NAN;
        r->moments[SBN_MOMENT_VAR * TOTAL + c] = c % 5 ? 1e-6 : 0.5;
        r->moments[SBN_MOMENT_INVSTD * TOTAL + c] = c % 5 ? 0x1p14 : 1.5;
        r->repeat[c] = f->wide && c % 2;
    }
}

static int does(const rows *r, const sbn_format *f, size_t c)
{
    return !f->wide || r->repeat[c];
}

static void expect_forward(rows *r, const sums *s, uint64_t count, sbn_eps eps, double weight,
                           int tracks)
{
    static double mean[CHANNELS], var[CHANNELS], invstd[CHANNELS];
    static unsigned char repeat[CHANNELS];
    const sbn_accumulators all = sbn__accumulators_at(s->all, s->format);
    sbn__moments_of(&all, CHANNELS, NULL, count, mean, var);
    sbn__invstd_of(var, CHANNELS, eps, invstd);
    sbn__forward_needs_wide(&all, CHANNELS, invstd, repeat);
    const double unbiased = (double)count / (double)(count - 1);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const size_t at = FIRST + c;
        if (!does(r, s->format, c))
            continue;
        const sbn_double_float m = sbn__split_double(mean[c]);
        r->coefficients[SBN_ROW_MEAN_HIGH * TOTAL + at] = m.high;
        r->coefficients[SBN_ROW_MEAN_LOW * TOTAL + at] = m.low;
        r->coefficients[SBN_ROW_INVSTD * TOTAL + at] = (float)invstd[c];
        r->moments[SBN_MOMENT_MEAN * TOTAL + at] = mean[c];
        r->moments[SBN_MOMENT_VAR * TOTAL + at] = var[c];
        r->moments[SBN_MOMENT_INVSTD * TOTAL + at] = invstd[c];
        if (!s->format->wide)
            r->repeat[c] = repeat[c];
    }
    if (!tracks)
        return;
    for (size_t at = 0; at < TOTAL; ++at) {
        const double m = r->moments[SBN_MOMENT_MEAN * TOTAL + at];
        const double v = r->moments[SBN_MOMENT_VAR * TOTAL + at];
        float *of_mean = &r->running[at], *of_var = &r->running[TOTAL + at];
        *of_mean = (float)((1.0 - weight) * *of_mean + weight * m);
        *of_var = (float)((1.0 - weight) * *of_var + weight * (v * unbiased));
    }
    r->batches = 17;
}

static void expect_backward(rows *r, const sums *s, uint64_t count, sbn_eps eps, int is_own)
{
    static double dy[CHANNELS], dy_xmu[CHANNELS], own_dy[CHANNELS], own_dy_xmu[CHANNELS];
    static unsigned char repeat[CHANNELS];
    const sbn_accumulators all = sbn__accumulators_at(s->all, s->format);
    const sbn_accumulators own = sbn__accumulators_at(is_own ? s->of[1] : s->all, s->format);
    const double *mean = r->moments + SBN_MOMENT_MEAN * TOTAL + FIRST;
    const double *invstd = r->moments + SBN_MOMENT_INVSTD * TOTAL + FIRST;
    const double *var = r->moments + SBN_MOMENT_VAR * TOTAL + FIRST;
    sbn__gradient_sums_of(&all, CHANNELS, NULL, mean, dy, dy_xmu);
    sbn__gradient_sums_of(&own, CHANNELS, NULL, mean, own_dy, own_dy_xmu);
    sbn__backward_needs_wide(&all, CHANNELS, invstd, repeat);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const size_t at = FIRST + c;
        if (!does(r, s->format, c))
            continue;
        const sbn_double_float g = sbn__split_double(dy[c] / (double)count);
        const double k = invstd[c] * invstd[c] * dy_xmu[c] / (double)count;
        r->gradients[SBN_ROW_G_HIGH * TOTAL + at] = g.high;
        r->gradients[SBN_ROW_G_LOW * TOTAL + at] = g.low;
        r->gradients[SBN_ROW_K * TOTAL + at] = sbn__is_clamped(var[c], eps) ? 0.0f : (float)k;
        r->gradients[SBN_ROW_WEIGHT_GRAD * TOTAL + at] = (float)(own_dy_xmu[c] * invstd[c]);
        r->gradients[SBN_ROW_BIAS_GRAD * TOTAL + at] = (float)own_dy[c];
        if (!s->format->wide)
            r->repeat[c] = repeat[c];
    }
}

/* Neighbours of the channels, which nobody writes, are compared too. */
static int is_expected(void)
{
    return same_floats(from_device.coefficients, expected.coefficients,
                       SBN_COEFFICIENT_ROWS * TOTAL) &&
           same_floats(from_device.gradients, expected.gradients, SBN_GRADIENT_ROWS * TOTAL) &&
           same_floats(from_device.running, expected.running, 2 * TOTAL) &&
           same_doubles(from_device.moments, expected.moments, SBN_MOMENT_ROWS * TOTAL) &&
           !memcmp(from_device.repeat, expected.repeat, TOTAL) &&
           from_device.batches == expected.batches;
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
    repeat = buffer_of(TOTAL, expected.repeat);
    moments = buffer_of(sizeof expected.moments, expected.moments);
    table = backward ? buffer_of(sizeof expected.gradients, expected.gradients)
                     : buffer_of(sizeof expected.coefficients, expected.coefficients);
    running = buffer_of(sizeof expected.running + sizeof expected.batches, expected.running);
}

static void close_buffers(int backward)
{
    for (int i = 0; i < SOURCES; ++i)
        clReleaseMemObject(sources[i]);
    read_back(repeat, TOTAL, from_device.repeat);
    read_back(moments, sizeof from_device.moments, from_device.moments);
    read_back(table, backward ? sizeof from_device.gradients : sizeof from_device.coefficients,
              backward ? from_device.gradients : from_device.coefficients);
    read_back(running, sizeof from_device.running + sizeof from_device.batches,
              from_device.running);
}

#define SOURCE(i) SBN_ARG(sources[i]), SBN_ARG(s->slices[i])

static void run(cl_kernel kernel, sbn_kernel_form form, const sums *s, const trial *t, int backward)
{
    const cl_uint channels = CHANNELS, first = FIRST, total = TOTAL, clamps = (cl_uint)t->eps.clamp;
    const cl_uint flag = (cl_uint)t->flag, own_slices = s->slices[1];
    const cl_ulong count = t->count;
    const double unbiased = (double)t->count / (double)(t->count - 1);
    const cl_long batches = 17;
    const sbn_argument forward_arguments[] = {
        SOURCE(0),         SOURCE(1),           SOURCE(2),       SOURCE(3),
        SBN_ARG(channels), SBN_ARG(first),      SBN_ARG(total),  SBN_ARG(repeat),
        SBN_ARG(count),    SBN_ARG(t->eps.eps), SBN_ARG(clamps), SBN_ARG(table),
        SBN_ARG(moments),  SBN_ARG(running),    SBN_ARG(flag),   SBN_ARG(t->weight),
        SBN_ARG(unbiased), SBN_ARG(batches),
    };
    const sbn_argument backward_arguments[] = {
        SOURCE(0),         SOURCE(1),           SOURCE(2),           SOURCE(3),
        SBN_ARG(channels), SBN_ARG(first),      SBN_ARG(total),      SBN_ARG(repeat),
        SBN_ARG(count),    SBN_ARG(t->eps.eps), SBN_ARG(clamps),     SBN_ARG(moments),
        SBN_ARG(table),    SBN_ARG(sources[1]), SBN_ARG(own_slices), SBN_ARG(flag),
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
    cl_kernel kernel = clCreateKernel(program->reduce[format],
                                      backward ? "backward_combine" : "forward_combine", &code);
    must(code, "clCreateKernel");
    sums s;
    sums_open(&s, f);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; ++i) {
        const trial *t = &trials[i];
        sums_fill(&s);
        fill_rows(&expected, f);
        from_device = expected;
        run(kernel, program->form, &s, t, backward);
        if (backward)
            expect_backward(&expected, &s, t->count, t->eps, t->flag);
        else
            expect_forward(&expected, &s, t->count, t->eps, t->weight, t->flag);
        tap_ok(is_expected(), "%s form, %s %s: %llu values, eps %g%s",
               program->form == SBN_FORM_CPU ? "CPU" : "GPU", f->wide ? "wide" : "narrow",
               backward ? "backward" : "forward", (unsigned long long)t->count, t->eps.eps,
               t->eps.clamp ? ", clamped" : "");
    }
    sums_close(&s);
    clReleaseKernel(kernel);
}

int main(void)
{
    static const sbn_kernel_form forms[] = {SBN_FORM_CPU, SBN_FORM_GPU};
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    state = 88172645463325252u;
    for (size_t i = 0; i < 2; ++i) {
        sbn_program *program;
        const sbn_program wanted = {.context = device.context,
                                    .device = device.device,
                                    .form = forms[i],
                                    .type = SBN_F32};
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
