/*
 * What vendors' compilers are asked for: by extensions, sizes of sub-groups and compute capability; that it reaches
 * the compiler, for the narrow format alone, and that the caller's own limit holds. What is refused that would need
 * another option, and options that are wrong.
 */
#include <string.h>

#include "base/activation.h"
#include "group/group.h"
#include "program/compiler_options.h"
#include "program/identity.h"
#include "program/program_text.h"
#include "support/main.h"
#include "support/wraps.h"

static void by(const char *extensions, size_t least, cl_uint capability, sbn_compiler expected)
{
    const sbn_compiler got = sbn__compiler_by(extensions, least, capability);
    tap_ok(got == expected, "<%s>, sub-groups of %zu, capability %u: expected %d, got %d",
           extensions, least, (unsigned)capability, expected, got);
}

static void options(sbn_compiler compiler, int program, int residual, const char *more,
                    const char *expected)
{
    const int fusion = sbn__fusion_of(SBN_RELU, residual, 0);
    const char *got = sbn__compiler_options(compiler, program, fusion, more);
    tap_ok(strcmp(got, expected) == 0, "compiler %d, program %d, residual %d, <%s>: <%s>, got <%s>",
           compiler, program, residual, more, expected, got);
}

/* The device says what a GPU would. */
static void of_device(const char *extensions, cl_device_info question, const void *answer,
                      size_t size, sbn_kernel_form form, sbn_compiler expected)
{
    sbn_compiler got;
    wraps_device_says(CL_DEVICE_EXTENSIONS, extensions, strlen(extensions) + 1);
    wraps_device_says(question, answer, size);
    const int status = sbn__compiler_of(device.device, form, &got);
    wraps_device_says(0, NULL, 0);
    tap_ok(!status && got == expected, "a device with <%s>, form %d: expected %d, got %d: %s",
           extensions, form, expected, got, status ? sbn_last_error() : "");
}

/* Whether work-groups count slices on a device of this compute capability; 0: it has none. */
static void fences(cl_uint capability, int expected)
{
    if (capability > 0)
        wraps_device_says(0x4000, &capability, sizeof capability);
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_GPU);
    wraps_device_says(0, NULL, 0);
    tap_ok(group->replicas->counts_slices == expected, "capability %u: slices are counted: %d",
           (unsigned)capability, expected);
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

/* Reductions are compiled on such a device, or their error has these words. */
static void compile(const char *extensions, cl_device_info question, const void *answer,
                    size_t size, int expected, const char *words)
{
    wraps_device_says(CL_DEVICE_EXTENSIONS, extensions, strlen(extensions) + 1);
    wraps_device_says(question, answer, size);
    sbn_group *group = GROUP_WITH(&queue, .form = SBN_FORM_GPU, .build_options = "-cl-opt-disable");
    expect(sbn__replica_load(group->replicas, SBN_F32, 0, sbn__part_of_reductions(0, 0, 0),
                             &group->config),
           expected, words, extensions);
    must(sbn_group_destroy(group), "sbn_group_destroy");
    wraps_device_says(0, NULL, 0);
}

/* How programs are built on such a device. */
static void builds(void)
{
    static const char intel[] = "cl_khr_fp64 cl_intel_required_subgroup_size";
    static const char nvidia[] = "cl_nv_compiler_options cl_khr_fp64";
    const size_t sizes[] = {16, 32};
    const cl_uint nine = 9;
    sbn_identity its;
    int names = 0;
    for (int i = 0; i < SBN_IDENTITY_NAMES && sbn__identity_of(device.device, &its); ++i)
        names += *its.names[i] != '\0';
    tap_ok(names == SBN_IDENTITY_NAMES, "a driver and its device have %d names", names);
    of_device(intel, 0x4108, sizes, sizeof sizes, SBN_FORM_GPU, SBN_COMPILER_SUB_GROUPS16);
    of_device(intel, 0x4108, sizes, sizeof sizes, SBN_FORM_CPU, SBN_COMPILER_PLAIN);
    compile(intel, 0x4108, sizes, sizeof sizes, SBN_SUCCESS, "");
    fences(0, 1);
    fences(6, 0);
    fences(7, 1);
    /* PoCL's compiler does not know NVIDIA's option, so that it must have come there. */
    compile(nvidia, 0x4000, &nine, sizeof nine, SBN_UNSUPPORTED_DEVICE, "build");
}

static void largest(const char *options, cl_ulong expected)
{
    cl_ulong got = 0;
    const int status = sbn__largest_buffer(device.device, options, &got);
    tap_ok(!status && got == expected, "the largest buffer with <%s>: %llu, got %llu",
           options ? options : "NULL", (unsigned long long)expected, (unsigned long long)got);
}

/* Larger buffers than an Intel GPU offers are refused without the option, by a whole layer, too. */
static void large_buffers(void)
{
    enum { CHANNELS = 3, PLANE = 100 };
    static const char option[] = "-cl-intel-greater-than-4GB-buffer-required";
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_uint vendor = 0x8086;
    const cl_ulong offered = 632; /* bytes */
    slice data;
    largest(NULL, UINT64_MAX);
    wraps_device_says(CL_DEVICE_TYPE, &type, sizeof type);
    wraps_device_says(CL_DEVICE_VENDOR_ID, &vendor, sizeof vendor);
    wraps_device_says(CL_DEVICE_MAX_MEM_ALLOC_SIZE, &offered, sizeof offered);
    largest(NULL, offered);
    largest("-w", offered);
    largest(option, UINT64_MAX);
    sbn_group *group = GROUP_WITH(&queue, .form = SBN_FORM_CPU, .program_cache = "");
    wraps_device_says(0, NULL, 0);
    const life l = LIVE_WITH(group, .channels = CHANNELS);
    slice_open(&data, &device, queue, 0, 1, CHANNELS, PLANE, 1);
    expect(
        sbn_evaluate(l.layer, &data.shard), SBN_INVALID_ARGUMENT,
        "x: expected a buffer of at most 632 bytes, got one of 1232: |build_options \"-cl-intel-",
        "a buffer that is larger");
    slice_close(&data);
    slice_open(&data, &device, queue, 0, 1, CHANNELS, PLANE / 2, 1);
    expect(sbn_evaluate(l.layer, &data.shard), SBN_SUCCESS, "", "one as large");
    slice_close(&data);
    fixture_die(&l);
}

/* Options that no program can be built with are the caller's mistake, and not the device's. */
static void wrong_options(void)
{
    static const char name[2 * SBN_DEVICE_NAME] = "longer than a sentence has room for";
    sbn_group *group;
    wraps_device_says(CL_DEVICE_NAME, name, sizeof name);
    expect(MAKE_GROUP(&group, &queue, .build_options = "-w -no-such-option"), SBN_INVALID_ARGUMENT,
           "build_options: the compiler of device \"?\" does not take \"-w -no-such-option\": |"
           "no-such-option",
           "an option that the compiler does not know");
    wraps_device_says(0, NULL, 0);
    tap_ok(!strchr(sbn_last_error(), '\n'), "one line: %s", sbn_last_error());
    wraps_fail(WRAP_BUILD, 1);
    wraps_fail_again = WRAPS_ALL;
    expect(wraps_no_more(MAKE_GROUP(&group, &queue, .build_options = "-w")), SBN_UNSUPPORTED_DEVICE,
           "cannot build the kernels|(build_options: -w)", "a compiler that builds nothing");
}

void checks(void)
{
    by("cl_khr_fp64 cl_khr_icd", 16, 9, SBN_COMPILER_PLAIN);
    by("cl_nv_compiler_options", 0, 9, SBN_COMPILER_REGISTERS);
    by("cl_khr_icd cl_nv_compiler_options cl_khr_fp64", 32, 10, SBN_COMPILER_REGISTERS);
    by("cl_khr_icd cl_nv_compiler_options", 32, 8, SBN_COMPILER_PLAIN);
    by("cl_khr_icd cl_nv_compiler_options", 32, 12, SBN_COMPILER_PLAIN);
    by("cl_khr_icd cl_nv_compiler_options", 32, 7, SBN_COMPILER_PLAIN);
    by("cl_khr_icd cl_nv_compiler_options", 32, 6, SBN_COMPILER_UNFENCED);
    by("", 0, 1, SBN_COMPILER_UNFENCED);
    by("cl_nv_compiler_options_not", 32, 9, SBN_COMPILER_PLAIN);
    by("not_cl_nv_compiler_options", 32, 9, SBN_COMPILER_PLAIN);
    by("not_cl_nv_compiler_options cl_nv_compiler_options", 32, 9, SBN_COMPILER_REGISTERS);
    by("cl_intel_required_subgroup_size", 16, 0, SBN_COMPILER_SUB_GROUPS16);
    by("cl_intel_required_subgroup_size", 8, 0, SBN_COMPILER_PLAIN);

    const sbn_compiler nvidia = SBN_COMPILER_REGISTERS, intel = SBN_COMPILER_SUB_GROUPS16;
    options(SBN_COMPILER_PLAIN, SBN_PROGRAM_BACKWARD, 0, "", "");
    options(nvidia, SBN_PROGRAM_FORWARD, 0, "", "-cl-nv-maxrregcount=80");
    options(nvidia, SBN_PROGRAM_BACKWARD, 0, "", "-cl-nv-maxrregcount=80");
    options(nvidia, SBN_PROGRAM_BACKWARD, 1, "-w", "-cl-nv-maxrregcount=128");
    options(nvidia, SBN_PROGRAM_APPLY, 0, "", "");
    options(nvidia, SBN_PROGRAM_BACKWARD, 0, "-w -cl-nv-maxrregcount=255", "");
    options(intel, SBN_PROGRAM_BACKWARD, 0, "", "-D SUB_GROUP=16 ");
    options(intel, SBN_PROGRAM_FORWARD, 1, "-cl-nv-maxrregcount=255", "-D SUB_GROUP=16 ");

    const sbn_program bare = {.form = SBN_FORM_GPU, .without = SBN_WITHOUT_FENCE, .options = ""};
    sbn_program_text dense;
    sbn__program_text(&dense, &bare, SBN_PROGRAM_BACKWARD);
    tap_ok(strstr(dense.options, "-D VIEWS=0 ") != NULL, "dense tensors pay for no gaps");
    tap_ok(strstr(dense.options, "-D HALF_BY_BITS=0 -D WITHOUT_FENCE=1 ") != NULL,
           "no fence alone");
    tap_ok(sbn__variant_of(SBN_FUSIONS - 1, sbn__part_of_reductions(1, 1, 1)) < SBN_VARIANTS,
           "all variants have a place");

    builds();
    large_buffers();
    wrong_options();
}
