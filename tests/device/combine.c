/*
 * The kernels that combine (cl/common/combine_*.cl) against the host (src/exact/statistics.h): accumulators of all
 * kinds, narrow and wide, in both forms of the kernels, and without doubles, must give the host's bits.
 */
#include <math.h>
#include <string.h>

#include "exact/statistics.h"
#include "program/kernel_constants.h"
#include "support/address_space.h"
#include "support/main.h"
#include "support/random.h"

/* --- accumulators of SOURCES replicas, of all kinds --- */

enum { CHANNELS = 1500, SOURCES = 4, MOST_SLICES = 3, MOST_LIMBS = 32 };

/* The accumulators of all sources, as the reductions leave them, and what they add up to. */
typedef struct sums {
    const sbn_format *format;
    size_t length;
    uint32_t slices[SOURCES];
    int64_t of[SOURCES][MOST_SLICES * CHANNELS * MOST_LIMBS], all[CHANNELS * MOST_LIMBS];
    /* Of the blocks that do not fit, and one number more. */
    int64_t wide_of[SOURCES][CHANNELS * MOST_LIMBS], all_wide[CHANNELS * MOST_LIMBS];
} sums;

static double uniform(void)
{
    return (double)(next() >> 11) * 0x1p-53;
}

/* A term of `bits` bits at most, with a sign, to the limbs of a sum; above its top nothing. */
static void add_random(int64_t *limbs, int limb, int bits, int negative)
{
    const int top = 1 + (int)(next() % (uint64_t)bits);
    for (int k = 0; limb * k < top; ++k) {
        const int used = top - limb * k < limb ? top - limb * k : limb;
        int64_t digit = (int64_t)(next() & ((UINT64_C(1) << used) - 1));
        /* Runs of ones and zeros carry far. */
        if (next() % 4 == 0)
            digit = next() % 2 ? 0 : (INT64_C(1) << used) - 1;
        limbs[k] += negative ? -digit : digit;
    }
}

/* value, a multiple of 2^-low. */
static void add_value(int64_t *limbs, int count, int bits, int low, double value)
{
    double rest = fabs(value);
    for (int k = count; k-- > 0;) {
        const double unit = ldexp(1.0, bits * k - low), limb = floor(rest / unit);
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
        add_value(accumulator, f->limbs1, f->limb_bits, f->low1, x);
        add_value(accumulator + f->limbs1, f->limbs2, f->limb_bits, f->low2, (double)x * x);
    }
}

static void add_bit(int64_t *limbs, int limb, int bit)
{
    limbs[bit / limb] += INT64_C(1) << bit % limb;
}

/* A sum whose words are 0, ones, or a fifth of ones: of five values products carry from word to word. */
static void add_fifths(int64_t *limbs, int limb, int bits, size_t kind)
{
    static const uint64_t words[] = {0, UINT64_MAX, UINT64_MAX / 5};
    for (int b = 0; b < bits; ++b) {
        if (words[kind % 3] >> b % 64 & 1)
            add_bit(limbs, limb, b);
        kind = b % 64 == 63 ? kind / 3 : kind;
    }
}

/*
 * The squares' term and the square of the sum have a word of zeros each, below which the square is larger: of two
 * values, or of 2^37.
 */
static void add_borrow(int64_t *accumulator, const sbn_format *f, int low, int squares)
{
    add_bit(accumulator, f->limb_bits, 96);
    add_bit(accumulator, f->limb_bits, low);
    add_bit(accumulator + f->limbs1, f->limb_bits, squares);
}

/*
 * A number and half of its last digit as a double; or that and a little: as a double, as a float, and as a double
 * by what is a word below. Some are negative.
 */
static void add_tie(int64_t *second, const sbn_format *f, size_t c)
{
    static const int bits[][2] = {{53, 53}, {10, 63}, {28, 52}, {90, 143}};
    const size_t way = c / 4 % 4;
    const int *bit = bits[way], low = (int)(c % (way < 2 ? 63 : 10));
    add_bit(second, f->limb_bits, low);
    add_bit(second, f->limb_bits, low + bit[1]);
    if (bit[0] != bit[1])
        add_bit(second, f->limb_bits, low + bit[0]);
    for (int k = 0; k < f->limbs2 && c % 3 == 1; ++k)
        second[k] = -second[k];
}

/* Terms of one source and slice in channel c, of kind c mod 7; one kind has but one term. */
static void fill_one(int64_t *accumulator, const sbn_format *f, size_t c, int first)
{
    const int limbs1 = f->limbs1, bits = f->limb_bits * (limbs1 - 1) + 9;
    const int bits2 = f->limb_bits * (f->limbs2 - 1) + 9;
    int64_t *second = accumulator + limbs1;
    switch (c % 7) {
    case 0: break; /* zeros */
    case 1: add_values(accumulator, f, 1.0); break;
    case 2:
        add_values(accumulator, f, f == &sbn_wide ? ldexp(1.0, (int)(c % 200) - 100) : 0x1p12);
        break;
    case 3: /* one bit */
        accumulator[c % (size_t)limbs1] += 1;
        second[c % (size_t)f->limbs2] += c % 4 < 2 ? 1 : -1;
        break;
    case 6:
        if (first && c % 2)
            add_borrow(accumulator, f, (int)(c % 31), c % 4 == 1 ? 144 : 108);
        else if (first && c % 4)
            add_fifths(second, f->limb_bits, bits2, c / 7);
        else if (first)
            add_tie(second, f, c);
        break;
    default:
        add_random(accumulator, f->limb_bits, bits, (int)(next() % 2));
        add_random(second, f->limb_bits, bits2, c % 7 == 4 ? 0 : (int)(next() % 2));
    }
    int64_t *flags = &accumulator[sbn__accumulator_length(f) - 1];
    *flags = c % 3 ? (int64_t)(next() % 4 == 0) * SBN_FLAG_WIDE
                   : (int64_t)(next() % (1 << SBN_FLAGS));
}

/* In a format; others each time. */
static void sums_fill(sums *s, const sbn_format *format)
{
    static const uint32_t slices[SOURCES] = {MOST_SLICES, 1, 0, 1};
    const size_t limbs = sbn__wide_limbs();
    memset(s, 0, sizeof *s);
    s->format = format;
    s->length = sbn__accumulator_length(format);
    memcpy(s->slices, slices, sizeof slices);
    for (int i = 0; i < SOURCES; ++i) {
        for (uint32_t k = 0; k < s->slices[i]; ++k) {
            int64_t *at = s->of[i] + k * CHANNELS * s->length;
            for (size_t c = 0; c < CHANNELS; ++c)
                fill_one(at + c * s->length, s->format, c, i + k == 0);
            sbn__accumulators_add(at, s->format, CHANNELS, s->all);
        }
        for (size_t c = 0; c < CHANNELS; ++c) {
            /* The flags behind the limbs are in the next channel's place. */
            int64_t *own = s->wide_of[i] + c * limbs;
            fill_one(own, &sbn_wide, c + 1, 0);
            own[limbs] = 0;
            /* Of as many blocks as a replica may have: together they are more than an int64. */
            if (c % 5 == 1)
                own[3] = own[sbn_wide.limbs1 + 6] = INT64_C(0xfc020000) << 30;
            if (s->slices[i] > 0)
                sbn__accumulators_add(own, &sbn_wide, 1, s->all_wide + c * limbs);
        }
    }
}

/* --- what the host makes of them --- */

/* Everything that both passes write, of CHANNELS channels a row. */
typedef struct rows {
    float coefficients[SBN_COEFFICIENT_ROWS * CHANNELS], gradients[SBN_GRADIENT_ROWS * CHANNELS];
    float running[2 * CHANNELS];
    int64_t batches;
    double moments[SBN_MOMENT_ROWS * CHANNELS];
} rows;

/* What is there before a pass, with the moments that a backward pass reads. */
static void rows_fill(rows *r)
{
    memset(r, 0x3e, sizeof *r);
    for (size_t c = 0; c < CHANNELS; ++c) {
        r->running[c] = (float)c * 0.25f;
        r->running[CHANNELS + c] = 1.0f + (float)c;
        r->moments[SBN_MOMENT_MEAN * CHANNELS + c] = c % 7 ? 1.0 / (double)(c + 3) : NAN;
        r->moments[SBN_MOMENT_VAR * CHANNELS + c] = c % 5 ? 1e-6 : 0.5;
        r->moments[SBN_MOMENT_INVSTD * CHANNELS + c] = c % 5 ? 0x1p14 : 1.5;
    }
}

/* Of narrow accumulators whose flags say so, both: the channels are in `only`. */
static sbn_accumulators join(const sbn_accumulators *narrow, const int64_t *wide,
                             unsigned char only[CHANNELS])
{
    static int64_t joined[CHANNELS * MOST_LIMBS];
    sbn__needs_wide(narrow, CHANNELS, only);
    sbn__accumulators_widen(narrow, CHANNELS, only, wide, joined);
    return (sbn_accumulators){joined, &sbn_wide};
}

static void host_gradient_sums(const int64_t *narrow, const sbn_format *format, const int64_t *wide,
                               const double *mean, double *dy, double *dy_xmu)
{
    unsigned char only[CHANNELS];
    const sbn_accumulators all = {narrow, format};
    const sbn_accumulators both = join(&all, wide, only);
    sbn__gradient_sums_of(&all, CHANNELS, NULL, mean, dy, dy_xmu);
    sbn__gradient_sums_of(&both, CHANNELS, only, mean, dy, dy_xmu);
}

/* What the host makes of the sums. is_own: the gradients are those of source 1 alone. */
static void expect_forward(rows *r, const sums *s, uint64_t count, sbn_eps eps, double weight,
                           int tracks)
{
    static double mean[CHANNELS], var[CHANNELS];
    unsigned char only[CHANNELS];
    const sbn_accumulators all = {s->all, s->format};
    const sbn_accumulators both = join(&all, s->all_wide, only);
    sbn__moments_of(&all, CHANNELS, NULL, count, mean, var);
    sbn__moments_of(&both, CHANNELS, only, count, mean, var);
    const double unbiased = (double)count / (double)(count - 1);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_double_float m = sbn__split_double(mean[c]);
        const double invstd = sbn__invstd(var[c], eps);
        r->coefficients[SBN_ROW_MEAN_HIGH * CHANNELS + c] = m.high;
        r->coefficients[SBN_ROW_MEAN_LOW * CHANNELS + c] = m.low;
        r->coefficients[SBN_ROW_INVSTD * CHANNELS + c] = isinf(invstd) ? NAN : (float)invstd;
        r->moments[SBN_MOMENT_MEAN * CHANNELS + c] = mean[c];
        r->moments[SBN_MOMENT_VAR * CHANNELS + c] = var[c];
        r->moments[SBN_MOMENT_INVSTD * CHANNELS + c] = invstd;
        if (!tracks)
            continue;
        float *of_mean = &r->running[c], *of_var = &r->running[CHANNELS + c];
        *of_mean = (float)((1.0 - weight) * *of_mean + weight * mean[c]);
        *of_var = (float)((1.0 - weight) * *of_var + weight * (var[c] * unbiased));
    }
    r->batches = tracks ? 17 : r->batches;
}

static void expect_backward(rows *r, const sums *s, uint64_t count, sbn_eps eps, int is_own)
{
    static double dy[CHANNELS], dy_xmu[CHANNELS], own_dy[CHANNELS], own_dy_xmu[CHANNELS];
    const double *mean = r->moments + SBN_MOMENT_MEAN * CHANNELS;
    const double *invstd = r->moments + SBN_MOMENT_INVSTD * CHANNELS;
    const double *var = r->moments + SBN_MOMENT_VAR * CHANNELS;
    host_gradient_sums(s->all, s->format, s->all_wide, mean, dy, dy_xmu);
    host_gradient_sums(is_own ? s->of[1] : s->all, s->format, is_own ? s->wide_of[1] : s->all_wide,
                       mean, own_dy, own_dy_xmu);
    for (size_t c = 0; c < CHANNELS; ++c) {
        const sbn_double_float g = sbn__split_double(dy[c] / (double)count);
        const double k = invstd[c] * invstd[c] * dy_xmu[c] / (double)count;
        r->gradients[SBN_ROW_G_HIGH * CHANNELS + c] = g.high;
        r->gradients[SBN_ROW_G_LOW * CHANNELS + c] = g.low;
        const int constant = sbn__is_clamped(var[c], eps) && isfinite(dy[c]);
        r->gradients[SBN_ROW_K * CHANNELS + c] = constant ? 0.0f : (float)k;
        r->gradients[SBN_ROW_WEIGHT_GRAD * CHANNELS + c] = (float)(own_dy_xmu[c] * invstd[c]);
        r->gradients[SBN_ROW_BIAS_GRAD * CHANNELS + c] = (float)own_dy[c];
    }
}

/* Rows of floats or doubles; any two NaN are equal. */
#define SAME(a, b) same(a, b, sizeof(a) / sizeof *(a), sizeof *(a))

static int same(const void *a, const void *b, size_t count, size_t size)
{
    for (size_t i = 0; i < count; ++i) {
        const void *got = (const char *)a + size * i, *right = (const char *)b + size * i;
        const double x = size == sizeof(float) ? *(const float *)got : *(const double *)got;
        const double y = size == sizeof(float) ? *(const float *)right : *(const double *)right;
        if (memcmp(got, right, size) != 0 && !(isnan(x) && isnan(y))) {
            tap_note("[%zu] of %zu: expected %a, got %a", i, count, y, x);
            return 0;
        }
    }
    return 1;
}

static int rows_equal(const rows *got, const rows *expected)
{
    return SAME(got->coefficients, expected->coefficients) &&
           SAME(got->gradients, expected->gradients) && SAME(got->running, expected->running) &&
           SAME(got->moments, expected->moments) && got->batches == expected->batches;
}

/* --- the kernels --- */

static rows from_device, expected;
static int64_t wide_after[SOURCES][CHANNELS * MOST_LIMBS];

static void read_back(cl_mem mem, size_t size, void *to)
{
    must(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, size, to, 0, NULL, NULL), "read");
    clReleaseMemObject(mem);
}

typedef struct trial {
    uint64_t count;
    sbn_eps eps;
    double weight;
    int flag; /* forward: track; backward: the gradients are of source 1 alone */
    int owns; /* source 1's wide accumulators become 0 */
} trial;

static const trial trials[] = {
    {5, {1e-5, 0}, 0.1, 1, 0},
    {2, {0.0, 0}, 1.0, 1, 1},
    {UINT64_C(1) << 37, {1e-30, 0}, 1.0 / 3, 1, 0},
    {(UINT64_C(1) << 43) + 1, {1e-5, 0}, 0.1, 1, 0},
    {12544 * 32 + 1, {1e-5, 1}, 0.1, 0, 1},
};

static cl_mem sources[SOURCES], wide[SOURCES], moments, table, running, stored;
static float gradients_stored[2 * CHANNELS];

static void open_buffers(sums *s, int backward)
{
    const size_t word_each = sizeof(int64_t) * CHANNELS;
    for (int i = 0; i < SOURCES; ++i) {
        sources[i] = fixture_buffer(&device, word_each * s->length * MOST_SLICES, s->of[i]);
        wide[i] = fixture_buffer(&device, word_each * sbn__wide_limbs(), s->wide_of[i]);
    }
    moments = fixture_buffer(&device, sizeof expected.moments, expected.moments);
    table = backward ? fixture_buffer(&device, sizeof expected.gradients, expected.gradients)
                     : fixture_buffer(&device, sizeof expected.coefficients, expected.coefficients);
    stored = fixture_buffer(&device, sizeof gradients_stored, gradients_stored);
    running = fixture_buffer(&device, sizeof expected.running + sizeof expected.batches,
                             expected.running);
}

static void close_buffers(int backward)
{
    for (int i = 0; i < SOURCES; ++i)
        clReleaseMemObject(sources[i]);
    for (int i = 0; i < SOURCES; ++i)
        read_back(wide[i], sizeof(int64_t) * CHANNELS * sbn__wide_limbs(), wide_after[i]);
    read_back(moments, sizeof from_device.moments, from_device.moments);
    read_back(table, backward ? sizeof from_device.gradients : sizeof from_device.coefficients,
              backward ? from_device.gradients : from_device.coefficients);
    read_back(stored, sizeof gradients_stored, gradients_stored);
    read_back(running, sizeof from_device.running + sizeof from_device.batches,
              from_device.running);
}

#define SOURCE(i) .from##i = sources[i], .slices##i = s->slices[i], .wide##i = wide[i]

static void run(sbn_replica *replica, sbn_kernel *kernel, sums *s, const trial *t, int backward)
{
    open_buffers(s, backward);
    ARGUMENTS(source, from, SOURCE(0), SOURCE(1), SOURCE(2), SOURCE(3));
    ARGUMENTS(own_wide, own_wide, .own_wide = wide[1], .owns = (cl_uint)t->owns,
              .channels = CHANNELS);
    ARGUMENTS(combine, combined, .count = t->count, .eps = t->eps.eps,
              .clamps = (cl_uint)t->eps.clamp);
    ARGUMENTS(forward_combine, of_forward, .coefficients = table, .moments = moments);
    ARGUMENTS(tracking, tracking, .means = running, .vars = running, .vars_offset = CHANNELS,
              .layers = running, .tracks = (cl_uint)t->flag, .counts = (cl_uint)t->flag,
              .weight = t->weight, .unbiased = (double)t->count / (double)(t->count - 1),
              .batches = 17);
    ARGUMENTS(backward_combine, of_backward, .moments = moments, .gradients = table);
    ARGUMENTS(own, own, .own = sources[1], .own_slices = s->slices[1], .is_own = (cl_uint)t->flag);
    ARGUMENTS(store, store, .weight_grad = stored, .has_weight_grad = 1, .bias_grad = stored,
              .bias_grad_offset = CHANNELS, .has_bias_grad = 1);
    sbn_arguments arguments = {.count = 0};
    sbn__add_source(&arguments, &from);
    sbn__add_own_wide(&arguments, &own_wide);
    sbn__add_combine(&arguments, &combined);
    if (backward) {
        sbn__add_backward_combine(&arguments, &of_backward);
        sbn__add_store(&arguments, &store);
        sbn__add_own(&arguments, &own);
    } else {
        sbn__add_forward_combine(&arguments, &of_forward);
        sbn__add_tracking(&arguments, &tracking);
    }
    const sbn_form_sizes *sizes = sbn__form_sizes(replica->form);
    const size_t span = (size_t)(sizes->combine_items * sizes->combine_span);
    const size_t work_groups = (CHANNELS + span - 1) / span;
    run_kernel(replica, kernel, &arguments, 1, &work_groups);
    close_buffers(backward);
}

/* Wide accumulators are as before, except that those of source 1 may be 0 where they were added. */
static int wide_left(const sums *s, const trial *t)
{
    const size_t length = sbn__wide_limbs();
    const sbn_accumulators all = {s->all, s->format};
    static const int64_t zeros[MOST_LIMBS];
    int left = 1;
    for (int i = 0; i < SOURCES; ++i)
        for (size_t c = 0; c < CHANNELS; ++c) {
            const int64_t *before = s->wide_of[i] + c * length;
            const int64_t *after = wide_after[i] + c * length;
            const int same = memcmp(before, after, sizeof *before * length) == 0;
            const int cleared = memcmp(zeros, after, sizeof *after * length) == 0;
            const int must_clear = t->owns && i == 1 &&
                                   sbn__accumulator_flags(&all, c) & SBN_FLAG_WIDE;
            left = left && (must_clear ? cleared : same || (t->owns && i == 1 && cleared));
        }
    return left;
}

static void check(sbn_replica *replica, sbn_kernel *kernel, const char *name, int backward)
{
    static sums s;
    const float *const gradients = from_device.gradients + SBN_ROW_WEIGHT_GRAD * CHANNELS;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; ++i) {
        const trial *t = &trials[i];
        sums_fill(&s, backward ? &sbn_backward_narrow : &sbn_forward_narrow);
        rows_fill(&expected);
        from_device = expected;
        run(replica, kernel, &s, t, backward);
        if (backward)
            expect_backward(&expected, &s, t->count, t->eps, t->flag);
        else
            expect_forward(&expected, &s, t->count, t->eps, t->weight, t->flag);
        /* The gradients of weight and bias are stored as they are in their table. */
        const int stored_so = memcmp(gradients_stored, gradients, sizeof gradients_stored) == 0;
        tap_ok(rows_equal(&from_device, &expected) && wide_left(&s, t) && (!backward || stored_so),
               "%s, %s: %llu values, eps %g%s", name, kernel->name, (unsigned long long)t->count,
               t->eps.eps, t->eps.clamp ? ", clamped" : "");
    }
}

void checks(void)
{
    static const struct {
        sbn_kernel_form form;
        const char *options, *name;
    } programs[] = {{SBN_FORM_CPU, "", "CPU form"},
                    {SBN_FORM_GPU, "", "GPU form"},
                    {SBN_FORM_GPU, "-D NO_DOUBLES", "GPU form, without doubles"}};
    for (size_t i = 0; i < sizeof programs / sizeof *programs; ++i) {
        const sbn_kernel_form form = programs[i].form;
        sbn_group *group = GROUP_WITH(&queue, .form = form, .build_options = programs[i].options);
        for (int backward = 0; backward < 2; ++backward) {
            sbn_replica *replica = group->replicas;
            const int part = form == SBN_FORM_GPU ? sbn__part_of_reductions(backward, 0, 0) : 0;
            must(sbn__replica_load(replica, SBN_F32, 0, part, &group->config), "kernels");
            sbn_kernels *kernels = replica->kernels[SBN_F32][sbn__variant_of(0, part)];
            check(replica, &kernels->of[SBN_COMBINE][backward], programs[i].name, backward);
        }
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
}
