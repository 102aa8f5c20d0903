/*
 * The self-test of a device's arithmetic (src/program/self_test.h), in both forms of the kernels: a device
 * that keeps the rules passes it once for each build, and never for programs from the cache; one that
 * breaks a rule, by a fault planted in the kernels' source or by an option that the library refuses
 * and the driver gets nevertheless, is an error that names the device and the rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "program/program_text.h"
#include "device/self_test_faults.h"
#include "support/fixture.h"
#include "support/folder.h"
#include "support/sample.h"
#include "support/wraps.h"

static fixture device;
static cl_command_queue queue;
static char name[128];

/* A group, and a layer of it. */
static int make_typed(sbn_kernel_form form, const char *cache, sbn_type type)
{
    sbn_group_config config = fixture_config(&queue);
    sbn_batchnorm_config layer_config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_group *group = NULL;
    sbn_batchnorm *layer = NULL;
    config.form = form;
    config.program_cache = cache;
    int status = sbn_group_create(&config, &group);
    if (!status != (group != NULL))
        tap_ok(0, "%s, and %s group", sbn_status_name(status), group ? "a" : "no");
    layer_config.channels = 1;
    layer_config.type = type;
    if (group) {
        status = sbn_batchnorm_create(group, &layer_config, &layer);
        if (!status != (layer != NULL))
            tap_ok(0, "%s, and %s layer", sbn_status_name(status), layer ? "a" : "no");
    }
    sbn_batchnorm_destroy(layer);
    char sentence[512];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    sbn_group_destroy(group);
    if (status)
        sbn_set_last_error(status, sentence);
    return status;
}

static int make(sbn_kernel_form form, const char *cache)
{
    return make_typed(form, cache, SBN_F32);
}

/* The words of a group that is refused, with the device's name among them. */
static void expect_broken(sbn_kernel_form form, const char *rule, const char *what)
{
    char words[512];
    const long before = sbn__handles_open();
    snprintf(words, sizeof words, "device \"%s\" breaks a rule of arithmetic|%s", name, rule);
    expect(make(form, ""), SBN_UNSUPPORTED_DEVICE, words, what);
    if (sbn__handles_open() != before)
        tap_ok(0, "%s: %ld handles left", what, sbn__handles_open() - before);
}

/* Faults of the source are in unoptimised kernels, too, which are soon compiled. */
static void planted(sbn_kernel_form form, const char *of_form)
{
    char what[160];
    wraps_build_with("-cl-opt-disable");
    for (size_t i = 0; i < self_test_fault_count; ++i) {
        /* Results are judged alike in both forms: of the GPU form a third of the faults, a sixth in a sample. */
        if (form != SBN_FORM_CPU &&
            (self_test_faults[i].cpu_only || i % (sample_only() ? 6 : 3) != 0))
            continue;
        snprintf(what, sizeof what, "%s form, planted: %s", of_form, self_test_faults[i].instead);
        wraps_replace(self_test_faults[i].text, self_test_faults[i].instead);
        expect_broken(form, self_test_faults[i].rule, what);
        /* The GPU form is built once more, without what it can do without. */
        if (wraps_replaced() != 1 + (form == SBN_FORM_GPU))
            tap_ok(0, "%s: %d places replaced", what, wraps_replaced());
        wraps_replace(NULL, NULL);
    }
    /* A kernel that does nothing has no right results. */
    wraps_replace("self_test_reals(reals, real_results, *terms, at);", "");
    snprintf(what, sizeof what, "%s form: results that nobody wrote", of_form);
    expect_broken(form, "fma(a, b, c) rounds once", what);
    wraps_replace(NULL, NULL);
    wraps_build_with(NULL);
}

/* Loads and stores of a type that are not exact: one of them flushes, the other cuts off. */
static void planted_in_storage(void)
{
    static const struct {
        sbn_kernel_form form;
        sbn_type type;
        const char *text, *instead, *rule;
    } wrong[] = {
        {SBN_FORM_CPU, SBN_F16, "return WIDENED(LOAD_STORED(p));",
         "real v = WIDENED(LOAD_STORED(p)); return zero_where(v, ~reaches(v, 0x1p-14f));",
         "an element is widened exactly: 0x0001: expected 0x1p-24, got 0x0p+0"},
        {SBN_FORM_CPU, SBN_F16, "p[i] = ROUNDED((real)v).s0;",
         "p[i] = ROUNDED(AS(float, AS(uint, (real)v) & ~0x1fffu)).s0;",
         "a result is rounded to the nearest element, ties to even: "},
        {SBN_FORM_CPU, SBN_BF16, "select((uints)0x7fffu, (uints)0x8000u, is_odd)", "0x8000u",
         "a result is rounded to the nearest element, ties to even: 0x1.01p+0: expected 0x3f80, "
         "got 0x3f81"},
        {SBN_FORM_GPU, SBN_BF16, "return AS(float, bits << 16);",
         "return AS(float, bits << 16) * 1.5f;", "an element is widened exactly: 0x3f80"},
    };
    wraps_build_with("-cl-opt-disable");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char words[512];
        const long before = sbn__handles_open();
        snprintf(words, sizeof words, "device \"%s\" breaks a rule of storage|%s", name,
                 wrong[i].rule);
        wraps_replace(wrong[i].text, wrong[i].instead);
        expect(make_typed(wrong[i].form, "", wrong[i].type), SBN_UNSUPPORTED_DEVICE, words,
               wrong[i].instead);
        wraps_replace(NULL, NULL);
        tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
    }
    wraps_build_with(NULL);
}

/* What the GPU form can do without: OpenCL's functions for halves, and the count of slices. */
static void planted_where_careful(void)
{
    static const struct {
        sbn_type type;
        const char *text, *instead;
    } wrong[] = {
        {SBN_F16, "return vload_half(i, (global const half *)p);",
         "float v = vload_half(i, (global const half *)p); return fabs(v) < 0x1p-14f ? 0.0f : v;"},
        {SBN_F16, "vstorea_half4_rte(v, 0, (global half *)(p + i));",
         "vstorea_half4_rtz(v, 0, (global half *)(p + i));"},
        {SBN_F16, "return vloada_half4(0, (global const half *)(p + i));",
         "return no_such_function(p);"},
        {SBN_F32, "atomic_inc(arrived) + 1 == slices", "atomic_inc(arrived) + 2 == slices"},
        {SBN_F32, "*arrived = 0;", ";"},
    };
    const sbn_type types[] = {SBN_F32, SBN_F16};
    long usual[SBN_TYPES];
    wraps_build_with("-cl-opt-disable");
    for (size_t i = 0; i < 2; ++i) {
        const long before = wraps_calls(WRAP_BUILD);
        expect(make_typed(SBN_FORM_GPU, "", types[i]), SBN_SUCCESS, "", "nothing is wrong");
        usual[types[i]] = wraps_calls(WRAP_BUILD) - before;
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const long before = wraps_calls(WRAP_BUILD);
        wraps_replace(wrong[i].text, wrong[i].instead);
        expect(make_typed(SBN_FORM_GPU, "", wrong[i].type), SBN_SUCCESS, "", wrong[i].instead);
        wraps_replace(NULL, NULL);
        const long built = wraps_calls(WRAP_BUILD) - before, expected = usual[wrong[i].type] + 1;
        tap_ok(built == expected, "%ld builds, expected %ld", built, expected);
    }
    wraps_build_with(NULL);
}

/* Of a device that does without doubles. */
static void planted_in_soft_doubles(void)
{
    static const char *const wrong[][3] = {
        {"const bool less = soft_digits(a) < by;", "const bool less = false;",
         "a / b in double precision is rounded to the nearest, ties to even: "},
        {"odd = exponent & 1;", "odd = 0;",
         "a square root in double precision is rounded to the nearest: "},
        {"high << up | (up > 0 ? low >> 63 : 0)", "high",
         "(a + b)^2 - (a + b + b) in double precision rounds the square: "},
        {"- 88 - up", "- 87 - up", "a square root in double precision is rounded to the nearest: "},
        {"(rest == SIGN_BIT && (kept & 1) != 0)", "rest == SIGN_BIT",
         "conversion of a 2^38 + b of 64 bits to double precision is rounded to the nearest: "},
    };
    wraps_build_with("-cl-opt-disable -D NO_DOUBLES");
    expect(make(SBN_FORM_GPU, ""), SBN_SUCCESS, "", "GPU form, without doubles");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        wraps_replace(wrong[i][0], wrong[i][1]);
        expect_broken(SBN_FORM_GPU, wrong[i][2], wrong[i][1]);
        wraps_replace(NULL, NULL);
    }
    wraps_build_with(NULL);
}

/* PoCL takes these at their word. A sample of the GPU form has the first, which implies the others. */
static void smuggled(sbn_kernel_form form, const char *of_form)
{
    static const char *const options[][2] = {
        {"-cl-fast-relaxed-math", ""},
        {"-cl-unsafe-math-optimizations", "in this order"},
        {"-cl-finite-math-only", "NaN"},
    };
    const int first_only = form != SBN_FORM_CPU && sample_only();
    const size_t count = first_only ? 1 : sizeof options / sizeof *options;
    char what[128];
    for (size_t i = 0; i < count; ++i) {
        snprintf(what, sizeof what, "%s form, built with %s", of_form, options[i][0]);
        wraps_build_with(options[i][0]);
        expect_broken(form, options[i][1], what);
        wraps_build_with(NULL);
    }
}

/* How many kernels were launched in the making of a group, or -1 where it failed. */
static long launches(const char *cache)
{
    const long before = wraps_calls(WRAP_LAUNCH);
    const int status = make(SBN_FORM_AUTO, cache);
    return status ? -1 : wraps_calls(WRAP_LAUNCH) - before;
}

static void cached(void)
{
    folder_begin();
    wraps_replace("isnan(v) ? 1 : 0", "0");
    tap_ok(launches(folder_root) == -1 && folder_names(folder_root, NULL) == 0,
           "a program that does not pass is not cached: %d files", folder_names(folder_root, NULL));
    wraps_replace(NULL, NULL);
    long count = launches("");
    tap_ok(count == 1, "built without a cache: tested %ld times", count);
    count = launches(folder_root);
    tap_ok(count == 1 && folder_names(folder_root, NULL) == SBN_PROGRAMS,
           "built into the cache: tested %ld times, %d files", count,
           folder_names(folder_root, NULL));
    count = launches(folder_root);
    tap_ok(count == 0, "from the cache: tested %ld times", count);
    folder_end();
}

static void checks(void)
{
    clGetDeviceInfo(device.device, CL_DEVICE_NAME, sizeof name, name, NULL);
    static const struct {
        sbn_kernel_form form;
        const char *name;
    } forms[] = {{SBN_FORM_CPU, "CPU"}, {SBN_FORM_GPU, "GPU"}};
    for (size_t i = 0; i < 2; ++i) {
        expect(make(forms[i].form, ""), SBN_SUCCESS, "", forms[i].name);
        planted(forms[i].form, forms[i].name);
        smuggled(forms[i].form, forms[i].name);
    }
    planted_in_soft_doubles();
    planted_in_storage();
    planted_where_careful();
    cached();
}

int main(void)
{
    /* Kernels as users run them. */
    setenv("POCL_EXTRA_BUILD_FLAGS", "", 1);
    return fixture_main(&device, &queue, checks);
}
