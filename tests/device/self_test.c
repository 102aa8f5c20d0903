/*
 * The self-test of a device's arithmetic (src/program/self_test.h), in both forms of the kernels: a device
 * that keeps the rules passes it once for each build, and never for programs from the cache; one that
 * breaks a rule, by a fault planted in the kernels' source or by an option that the library refuses
 * and the driver gets nevertheless, is an error that names the device and the rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/compare.h"
#include "check/problem.h"
#include "program/program_text.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/trial.h"
#include "support/wraps.h"

static char name[128];

/* A group, and a layer of it. */
static int make(sbn_kernel_form form, sbn_type type, const char *cache)
{
    sbn_group *group = NULL;
    sbn_batchnorm *layer = NULL;
    int status = MAKE_GROUP(&group, &queue, .form = form, .program_cache = cache);
    if (!status != (group != NULL) || (!status && *sbn_last_error()))
        tap_ok(0, "%s, and %s group", sbn_status_name(status), group ? "a" : "no");
    if (group) {
        status = MAKE_LAYER(&layer, group, .channels = 1, .type = type, .track_running_stats = OFF);
        if (!status != (layer != NULL) || (!status && *sbn_last_error()))
            tap_ok(0, "%s, and %s layer", sbn_status_name(status), layer ? "a" : "no");
    }
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(group);
    return status;
}

static const char unoptimised[] = "-cl-opt-disable";

/* A fault of the source, or NULL, and options: the error names the device and the rule. */
static void plant(sbn_kernel_form form, sbn_type type, const char *options, const char *text,
                  const char *instead, const char *rule)
{
    char words[512], what[192];
    const long before = wraps_calls[WRAP_BUILD];
    snprintf(words, sizeof words, "device \"%s\" breaks a rule of %s|%s", name,
             type == SBN_F32 ? "arithmetic" : "storage", rule);
    snprintf(what, sizeof what, "%s form, %s, planted: %s", form_names[form], options,
             text ? instead : "nothing");
    wraps_build_with = options;
    wraps_replace(text, instead);
    expect(make(form, type, ""), SBN_UNSUPPORTED_DEVICE, words, what);
    /* Once more, of the GPU form, without what it can do without. */
    const long builds = wraps_calls[WRAP_BUILD] - before;
    tap_ok(type != SBN_F32 || builds == (form == SBN_FORM_GPU ? 2 : 1), "after %ld builds", builds);
    wraps_replace(NULL, NULL);
    wraps_build_with = NULL;
}

/*
 * Faults of a device's arithmetic, as edits of cl/common/self_test.cl, in the order of the rules: what is in the
 * source, in one place, what instead, and words of the sentence. A fourth text: for the CPU form alone.
 */
enum { IS, INSTEAD, WORDS, CPU_ONLY, FAULT_TEXTS };
static const char *const self_test_faults[][FAULT_TEXTS] = {
    {"fma(REALS(0, 0), REALS(0, 1), REALS(0, 2))", "REALS(0, 0) * REALS(0, 1) + REALS(0, 2)",
     "fma(a, b, c) rounds once: a 0x1.000002p+0, b 0x1.000002p+0, c -0x1.000004p+0: expected "
     "0x1p-46, got 0x0p+0"},
    {"REALS(1, 0) * REALS(1, 1) + REALS(1, 2)", "fma(REALS(1, 0), REALS(1, 1), REALS(1, 2))",
     "a * b + c rounds twice: |got 0x1p-46"},
    {"REALS(2, 0) + REALS(2, 1)", "nextafter(REALS(2, 0) + REALS(2, 1), (real)10.0f)",
     "a + b is rounded to the nearest, ties to even: "},
    {"REALS(3, 0) * REALS(3, 1)", "nextafter(REALS(3, 0) * REALS(3, 1), (real)0.0f)",
     "a * b is rounded to the nearest, ties to even: "},
    {"REALS(4, 0) + REALS(4, 1) - REALS(4, 0) - REALS(4, 1)", "REALS(4, 0) - REALS(4, 0)",
     "a + b - a - b is computed in this order: |expected -0x1p+0, got 0x0p+0"},
    {"sum += term", "sum = i ? sum : first + term * (float)terms",
     "a sum adds its terms in order|: expected 0x1p+0, got 0x1.000008p+0"},
    {"REALS(6, 0) - REALS(6, 0)", "(real)0.0f", "a - a is 0, and NaN of an infinity or NaN: |inf"},
    {"INTEGERS(0, 0) << INTEGERS(0, 1)",
     "CONVERT(ulong, CONVERT(uint, INTEGERS(0, 0))) << INTEGERS(0, 1)", "a << b of 64 bits: "},
    {"INTEGERS(1, 0) >> INTEGERS(1, 1)", "AS(ulong, AS(long, INTEGERS(1, 0)) >> INTEGERS(1, 1))",
     "a >> b of 64 bits: "},
    {"AS(long, INTEGERS(2, 0)) >> INTEGERS(2, 1)", "INTEGERS(2, 0) >> INTEGERS(2, 1)",
     "a >> b of signed 64 bits: "},
    {"INTEGERS(3, 0) + INTEGERS(3, 1)",
     "(INTEGERS(3, 0) & 0xffffffff00000000UL) + ((INTEGERS(3, 0) + INTEGERS(3, 1)) & 0xffffffffUL)",
     "a + b of 64 bits: |expected 0x100000000, got 0x0"},
    {"INTEGERS(4, 0) * INTEGERS(4, 1)", "(INTEGERS(4, 0) * INTEGERS(4, 1)) & 0xffffffffUL",
     "a * b of 64 bits: |expected 0xfffffffe00000001, got 0x1"},
    {"CONVERT(long, AS(int, CONVERT(uint, INTEGERS(5, 0))))",
     "CONVERT(ulong, CONVERT(uint, INTEGERS(5, 0)))",
     "conversion of a signed integer to 64 bits: "},
    {"CONVERT(ulong, CONVERT(uint, INTEGERS(6, 0)))",
     "CONVERT(long, AS(int, CONVERT(uint, INTEGERS(6, 0))))",
     "conversion of an unsigned integer to 64 bits: "},
    {"quotient(operand[14 * CASES], operand[15 * CASES])",
     "(operand[14 * CASES] + 2) / operand[15 * CASES]",
     "a / b of 32 bits: a 0xfffffffe, b 0xffffffff: expected 0x0, got 0x1"},
    {"quotient_long(operand[16 * CASES], operand[17 * CASES])",
     "(ulong)(uint)(operand[16 * CASES] / operand[17 * CASES])", "a / b of 64 bits: "},
    {"isnan(v) ? 1 : 0", "0", "NaN and infinities are recognised: a 0x7fc00000|got 0x0"},
    {"mul_hi(operand[20 * CASES], operand[21 * CASES])", "operand[20 * CASES] >> 32",
     "the high half of a * b of 64 bits: "},
    {"clz(INTEGERS(11, 0))", "CONVERT(ulong, clz(CONVERT(uint, INTEGERS(11, 0))) + 32)",
     "leading zeros of 64 bits: a 0xffffffffffffffff|expected 0x0, got 0x20"},
    {"plus_zero(product)", "product", "a zero is stored as +0: |got 0x80000000"},
    {"convert_double16(REALS(7, 0)) * convert_double16(REALS(7, 1))",
     "convert_double16(REALS(7, 0) * REALS(7, 1))",
     "a product of floats is exact in double precision: ", "CPU form"},
    {"as_long16(sum) - as_long16(splitter)", "convert_long16(REALS(8, 0))",
     "a + b in double precision, less b as integers: |expected 0x4, got 0x3", "CPU form"},
    {"- (other_sum - splitter)", "- convert_double16(REALS(9, 0))",
     "a - (a + b - b) in double precision is computed in this order: ", "CPU form"},
    {"convert_long16(convert_double16(REALS(10, 0)))",
     "convert_long16(convert_int16_sat(REALS(10, 0)))",
     "conversion of double precision to integers: |expected 0x10000000000, got 0x7fffffff",
     "CPU form"},
    {"divide_exactly(DOUBLES_OF(11, 0), DOUBLES_OF(11, 1))",
     "DOUBLES_OF(11, 0) * divide_exactly(ONE, DOUBLES_OF(11, 1))",
     "a / b in double precision is rounded to the nearest, ties to even: "},
    {"root(DOUBLES_OF(12, 0))", "OF_FLOATS(TO_FLOATS(root(DOUBLES_OF(12, 0))))",
     "a square root in double precision is rounded to the nearest: a 0x1p+1, b 0x0p+0: "
     "expected 0x3ff6a09e667f3bcd, got 0x3ff6a09e60000000"},
    {"MINUS(square, PLUS(sum13, b13))", "fma(sum13, sum13, -PLUS(sum13, b13))",
     "(a + b)^2 - (a + b + b) in double precision rounds the square: |expected 0x0, got 0x3c3"},
    {"round_words(abs(sum14), 0, 0, -64)", "round_words(abs(sum14) & ~511UL, 0, 0, -64)",
     "conversion of a 2^38 + b of 64 bits to double precision is rounded to the nearest: "},
    {"TO_FLOATS(sum15)", "TO_FLOATS(sum15 * (1.0 - 0x1p-40))",
     "conversion of a + b in double precision to single is rounded to the nearest, ties to even: "},
    {"fma(REALS(0, 0), REALS(0, 1), REALS(0, 2))",
     "convert_float16_rtp(fma(convert_double16(REALS(0, 0)), convert_double16(REALS(0, 1)), "
     "convert_double16(REALS(0, 2))))",
     "fma(a, b, c) rounds once: a 0x1.fffffcp-13, b 0x1.000002p-12, c 0x1.000002p+0", "CPU form"},
};

/* Faults of the source are in unoptimised kernels, too, which are soon compiled. */
static void planted(sbn_kernel_form form)
{
    for (size_t i = 0; i < sizeof self_test_faults / sizeof *self_test_faults; ++i) {
        const char *const *fault = self_test_faults[i];
        /* Results are judged alike in both forms: of the GPU form a third of the faults, a sixth in a sample. */
        if (form == SBN_FORM_CPU || (!fault[CPU_ONLY] && i % (sample_only() ? 6 : 3) == 0))
            plant(form, SBN_F32, unoptimised, fault[IS], fault[INSTEAD], fault[WORDS]);
    }
    /* A kernel that does nothing has no right results. */
    plant(form, SBN_F32, unoptimised, "self_test_reals(reals, real_results, *terms, at);", "",
          "fma(a, b, c) rounds once");
}

/* Loads and stores of a type that are not exact: one of them flushes, the other cuts off. */
static void planted_in_storage(void)
{
    plant(SBN_FORM_CPU, SBN_F16, unoptimised, "return WIDENED(LOAD_STORED(p));",
          "real v = WIDENED(LOAD_STORED(p)); return zero_where(v, ~reaches(v, 0x1p-14f));",
          "an element is widened exactly: 0x0001: expected 0x1p-24, got 0x0p+0");
    plant(SBN_FORM_CPU, SBN_F16, unoptimised, "p[i] = ROUNDED((real)v).s0;",
          "p[i] = ROUNDED(AS(float, AS(uint, (real)v) & ~0x1fffu)).s0;",
          "a result is rounded to the nearest element, ties to even: ");
    plant(SBN_FORM_CPU, SBN_BF16, unoptimised, "select((uints)0x7fffu, (uints)0x8000u, is_odd)",
          "0x8000u",
          "a result is rounded to the nearest element, ties to even: 0x1.01p+0: expected 0x3f80, "
          "got 0x3f81");
    plant(SBN_FORM_CPU, SBN_BF16, unoptimised, "return select(nearest, bits | 0x400000u, ",
          "return select(min(nearest & 0x7fffffffu, (uints)0x7f7fffffu) | (bits & 0x80000000u), "
          "bits, ",
          "0x1.ffp+127: expected 0x7f80, got 0x7f7f");
    plant(SBN_FORM_GPU, SBN_BF16, unoptimised, "return select(nearest, bits | 0x400000u, ",
          "return select(nearest, bits & 0xff800000u, ", "nan: expected 0x7fc0, got 0x7f80");
}

/* Several slices, by kernels that lack what has not passed. */
static void judge(sbn_type type, const char *what)
{
    char error[RUNNER_ERROR];
    comparison result = {.ok = 0};
    trial t;
    queues *r = trial_pocl(NULL, error);
    trial_make(&t,
               type == SBN_F16 ? "mb64ic5ih40iw40,f16,form=gpu"
                               : "mb1100ic2il257,data=infs,form=gpu",
               1);
    const int failed = !r || trial_run(&t, r, error) || compare(&t.p, &t.g, &t.in, &t.out, &result);
    tap_ok(!failed && result.ok, "%s: a pass: %s", what, failed ? error : "as the reference says");
    trial_free(&t);
    queues_close(r);
}

/*
 * What need not be right, with one more build: OpenCL's functions for halves, which integers then convert,
 * and the count of slices.
 */
static void planted_in_needless(void)
{
    static const struct {
        sbn_type type;
        const char *text, *instead;
    } wrong[] = {
        {SBN_F32, NULL, "right floats"},
        {SBN_F32, "atomic_inc(arrived) + 1 == slices", "atomic_inc(arrived) + 2 == slices"},
        {SBN_F32, "*arrived = 0;", ";"},
        {SBN_F16, NULL, "right halves"},
        {SBN_F16, "return vload_half(i, (global const half *)p);",
         "float v = vload_half(i, (global const half *)p); return fabs(v) < 0x1p-14f ? 0.0f : v;"},
        {SBN_F16, "vstorea_half4_rte(v, 0, (global half *)(p + i));",
         "vstorea_half4_rtz(v, 0, (global half *)(p + i));"},
        {SBN_F16, "return vloada_half4(0, (global const half *)(p + i));",
         "return no_such_function(p);"},
    };
    long usual = 0;
    wraps_build_with = unoptimised;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const char *text = wrong[i].text;
        const long before = wraps_calls[WRAP_BUILD];
        wraps_replace(text, wrong[i].instead);
        expect(make(SBN_FORM_GPU, wrong[i].type, ""), SBN_SUCCESS, "", wrong[i].instead);
        const long built = wraps_calls[WRAP_BUILD] - before;
        judge(wrong[i].type, wrong[i].instead);
        wraps_replace(NULL, NULL);
        usual = text ? usual : built;
        /* What does not compile is tried twice. */
        const int more = !text ? 0 : strstr(wrong[i].instead, "no_such_function") ? 2 : 1;
        tap_ok(built == usual + more, "%ld builds, %ld of right ones", built, usual);
    }
    wraps_build_with = NULL;
}

/* Of a device that does without doubles. */
static void planted_in_soft_doubles(void)
{
    static const char options[] = "-cl-opt-disable -D NO_DOUBLES";
    static const char *const wrong[][3] = {
        {"const bool less = soft_digits(a) < by;", "const bool less = false;",
         "a / b in double precision is rounded to the nearest, ties to even: "},
        {"odd = exponent & 1;", "odd = 0;",
         "a square root in double precision is rounded to the nearest: "},
        {"high << up | (low != 0)", "high | (low != 0)",
         "(a + b)^2 - (a + b + b) in double precision rounds the square: "},
        {"- 88 - up", "- 87 - up", "a square root in double precision is rounded to the nearest: "},
        {"(rest == SIGN_BIT && (kept & 1) != 0)", "rest == SIGN_BIT",
         "conversion of a 2^38 + b of 64 bits to double precision is rounded to the nearest: "},
    };
    wraps_build_with = options;
    expect(make(SBN_FORM_GPU, SBN_F32, ""), SBN_SUCCESS, "", "gpu form, without doubles");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i)
        plant(SBN_FORM_GPU, SBN_F32, options, wrong[i][0], wrong[i][1], wrong[i][2]);
}

/* PoCL takes these at their word. A sample of the GPU form has the first, which implies the others. */
static void smuggled(sbn_kernel_form form)
{
    plant(form, SBN_F32, "-cl-fast-relaxed-math", NULL, NULL, "");
    if (form != SBN_FORM_CPU && sample_only())
        return;
    plant(form, SBN_F32, "-cl-unsafe-math-optimizations", NULL, NULL, "in this order");
    plant(form, SBN_F32, "-cl-finite-math-only", NULL, NULL, "NaN");
}

/* How many kernels are launched in the making of a group, -1 where it fails, and how many files there are then. */
static void launches(const char *cache, long expected, int files, const char *what)
{
    const long before = wraps_calls[WRAP_LAUNCH];
    const int status = make(SBN_FORM_AUTO, SBN_F32, cache);
    const long count = status ? -1 : wraps_calls[WRAP_LAUNCH] - before;
    const int kept = folder_names(folder_root, NULL);
    tap_ok(count == expected && kept == files, "%s: tested %ld times, %d files", what, count, kept);
}

static void cached(void)
{
    folder_begin();
    wraps_build_with = unoptimised;
    wraps_replace("isnan(v) ? 1 : 0", "0");
    launches(folder_root, -1, 0, "a program that does not pass is not cached");
    wraps_replace(NULL, NULL);
    launches("", 1, 0, "built without a cache");
    launches(folder_root, 1, SBN_PROGRAMS, "built into the cache");
    launches(folder_root, 0, SBN_PROGRAMS, "from the cache");
    wraps_build_with = NULL;
    folder_end();
}

void checks(void)
{
    char words[192];
    wraps_build_anew = 1;
    /* Kernels as users run them. */
    setenv("POCL_EXTRA_BUILD_FLAGS", "", 1);
    clGetDeviceInfo(device.device, CL_DEVICE_NAME, sizeof name, name, NULL);
    snprintf(words, sizeof words, "the self-test of device \"%s\" cannot run: ", name);
    wraps_fail(WRAP_LAUNCH, 1);
    expect(make(SBN_FORM_CPU, SBN_F32, ""), CL_OUT_OF_RESOURCES, words, "a launch fails");
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        expect(make(form, SBN_F32, ""), SBN_SUCCESS, "", form_names[form]);
        planted(form);
        smuggled(form);
    }
    planted_in_soft_doubles();
    planted_in_storage();
    planted_in_needless();
    cached();
}
