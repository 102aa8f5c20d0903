/*
 * What vendors' compilers are asked for: by extensions, sizes of sub-groups and compute capability; that it reaches
 * the compiler, for the narrow format alone, and that the caller's own limit holds.
 */
#include <string.h>

#include <syncbn.h>

#include "base/activation.h"
#include "device/compiler_options.h"
#include "device/program_text.h"
#include "support/fixture.h"
#include "support/wraps.h"

static fixture device;
static cl_command_queue queue;

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

/* How programs are built on such a device. */
static void builds(void)
{
    static const char intel[] = "cl_khr_fp64 cl_intel_required_subgroup_size";
    static const char nvidia[] = "cl_nv_compiler_options cl_khr_fp64";
    const size_t sizes[] = {32, 16};
    const cl_uint nine = 9;
    sbn_group *group = NULL;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.form = SBN_FORM_GPU;
    config.build_options = "-cl-opt-disable";
    of_device(intel, 0x4108, sizes, sizeof sizes, SBN_FORM_GPU, SBN_COMPILER_SUB_GROUPS16);
    of_device(intel, 0x4108, sizes, sizeof sizes, SBN_FORM_CPU, SBN_COMPILER_PLAIN);
    of_device(nvidia, 0x4000, &nine, sizeof nine, SBN_FORM_GPU, SBN_COMPILER_REGISTERS);

    wraps_device_says(CL_DEVICE_EXTENSIONS, intel, sizeof intel);
    wraps_device_says(0x4108, sizes, sizeof sizes);
    int status = sbn_group_create(&config, &group);
    tap_ok(status == SBN_SUCCESS, "kernels with sub-groups of 16 are compiled: %s",
           status ? sbn_last_error() : "");
    sbn_group_destroy(group);
    wraps_device_says(0, NULL, 0);

    /* PoCL's compiler does not know NVIDIA's option, so that it must have come there. */
    wraps_device_says(CL_DEVICE_EXTENSIONS, nvidia, sizeof nvidia);
    wraps_device_says(0x4000, &nine, sizeof nine);
    status = sbn_group_create(&config, &group);
    tap_ok(status == SBN_UNSUPPORTED_DEVICE && strstr(sbn_last_error(), "build"),
           "a limit of registers reaches the compiler: %s", sbn_last_error());
    wraps_device_says(0, NULL, 0);
}

static void checks(void)
{
    by("", 0, 0, SBN_COMPILER_PLAIN);
    by("cl_khr_fp64 cl_khr_icd", 16, 9, SBN_COMPILER_PLAIN);
    by("cl_nv_compiler_options", 0, 9, SBN_COMPILER_REGISTERS);
    by("cl_khr_icd cl_nv_compiler_options cl_khr_fp64", 32, 10, SBN_COMPILER_REGISTERS);
    by("cl_khr_icd cl_nv_compiler_options", 32, 8, SBN_COMPILER_PLAIN);
    by("cl_khr_icd cl_nv_compiler_options", 32, 12, SBN_COMPILER_PLAIN);
    by("cl_nv_compiler_options_not", 32, 9, SBN_COMPILER_PLAIN);
    by("not_cl_nv_compiler_options", 32, 9, SBN_COMPILER_PLAIN);
    by("not_cl_nv_compiler_options cl_nv_compiler_options", 32, 9, SBN_COMPILER_REGISTERS);
    by("cl_intel_required_subgroup_size", 16, 0, SBN_COMPILER_SUB_GROUPS16);
    by("cl_intel_required_subgroup_size", 8, 0, SBN_COMPILER_PLAIN);
    by("cl_intel_required_subgroup_size", 0, 0, SBN_COMPILER_PLAIN);
    by("cl_khr_fp64", 16, 0, SBN_COMPILER_PLAIN);

    const sbn_compiler nvidia = SBN_COMPILER_REGISTERS, intel = SBN_COMPILER_SUB_GROUPS16;
    options(SBN_COMPILER_PLAIN, SBN_PROGRAM_BACKWARD_NARROW, 0, "", "");
    options(nvidia, SBN_PROGRAM_FORWARD_NARROW, 0, "", "-cl-nv-maxrregcount=80");
    options(nvidia, SBN_PROGRAM_BACKWARD_NARROW, 0, "", "-cl-nv-maxrregcount=80");
    options(nvidia, SBN_PROGRAM_BACKWARD_NARROW, 1, "-w", "-cl-nv-maxrregcount=128");
    options(nvidia, SBN_PROGRAM_FORWARD_WIDE, 0, "", "");
    options(nvidia, SBN_PROGRAM_APPLY, 0, "", "");
    options(nvidia, SBN_PROGRAM_BACKWARD_NARROW, 0, "-w -cl-nv-maxrregcount=255", "");
    options(intel, SBN_PROGRAM_BACKWARD_NARROW, 0, "", "-D SUB_GROUP=16");
    options(intel, SBN_PROGRAM_FORWARD_WIDE, 1, "-cl-nv-maxrregcount=255", "-D SUB_GROUP=16");

    builds();
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
