/*
 * Passes that devices combine, which only enqueue: they neither wait nor allocate (on_device_calls.c), and
 * errors come late (on_device_late.c). Their bits, those of passes that the host combines: tests/pass/same; the
 * order of their commands: any_order.sh.
 */
#include "group/group.h"
#include "pass/on_device_training.h"
#include "support/wraps.h"

static cl_command_queue queues[2]; /* in order, and not */

static const problem one = {"one replica", 5, 300, {3}, 0}, two = {"two", 20, 300, {2, 1}, 0},
                     sliced = {"of several slices", 5, 3000, {7}, 0},
                     both_sliced = {"two of several", 5, 3000, {7, 7}, 0},
                     planes = {"large planes", 5, 65536, {1}, 0},
                     strips = {"strips", 20, 1024, {4}, 0},
                     large = {"wide", 20, 1100, {2, 1}, 3e30f};

/* Whether a group of so many replicas as can be combined, in two queues, combines on its devices. */
static int combines(cl_command_queue first, cl_command_queue second, cl_bool unified)
{
    cl_command_queue both[] = {first, second, first, second};
    wraps_device_says(CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
    sbn_group *group = GROUP_WITH(both, .replicas = 4);
    wraps_device_says(0, NULL, 0);
    const int combined = group->combines;
    must(sbn_group_destroy(group), "sbn_group_destroy");
    return combined;
}

/* Several devices of a context combine if they share the host's memory; one device in any case. */
static void check_devices(void)
{
    const cl_device_partition_property halves[] = {CL_DEVICE_PARTITION_BY_COUNTS, 1, 1, 0, 0};
    cl_device_id parts[2];
    cl_command_queue of[2];
    cl_int code;
    tap_ok(combines(queues[0], queues[1], CL_FALSE) && combines(queues[0], queues[1], CL_TRUE),
           "one device combines what two queues have, whatever its memory");
    if (clCreateSubDevices(device.device, halves, 2, parts, NULL) != CL_SUCCESS) {
        tap_skip("the device has no two units apart");
        return;
    }
    cl_context context = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
    must(code, "clCreateContext");
    for (int i = 0; i < 2; ++i)
        of[i] = fixture_queue(&(fixture){parts[i], context}, 0);
    tap_ok(combines(of[0], of[1], CL_TRUE), "two devices that work in the host's memory combine");
    tap_ok(!combines(of[0], of[1], CL_FALSE), "two with memory of their own do not");
    wraps_says_of = parts[1];
    tap_ok(!combines(of[0], of[1], CL_FALSE), "nor do two of which one has");
    wraps_says_of = NULL;
    for (int i = 0; i < 2; ++i) {
        clReleaseCommandQueue(of[i]);
        clReleaseDevice(parts[i]);
    }
    clReleaseContext(context);
}

void checks(void)
{
    static const problem *const plain[] = {&one, &two, NULL};
    static const cl_uint units = 2; /* on more these planes and strips are not whole passes */
    wraps_build_once = 1;
    queues[0] = queue;
    queues[1] = fixture_queue(&device, 1);
    for (int kind = 0; kind < 2; ++kind) {
        for (const problem *const *p = plain; *p; ++p) {
            with_training(*p, queues[kind], 0, check_calls);
            with_training(*p, queues[kind], 0, check_commands);
            with_training(*p, queues[kind], 1, check_commands);
            with_training(*p, queues[kind], 1, check_copies);
            with_training(*p, queues[kind], 0, check_late_errors);
            with_training(*p, queues[kind], 0, check_failed_on_host);
            with_training(*p, queues[kind], 0, check_failed_updates);
        }
        with_training(&large, queues[kind], 0, check_calls);
        with_training(&both_sliced, queues[kind], 0, check_commands);
        wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &units, sizeof units);
        with_training(&planes, queues[kind], 0, check_commands);
        with_training(&strips, queues[kind], 0, check_commands);
        wraps_device_says(0, NULL, 0);
        with_training(&two, queues[kind], 0, check_failed_forward);
        with_training(&two, queues[kind], 0, check_loading);
        with_training(&one, queues[kind], 0, check_failed_evaluation);
    }
    check_devices();
    for (int on_host = 0; on_host < 2; ++on_host)
        with_training(&two, NULL, on_host, check_commands);
    with_training(&two, NULL, 0, check_refused_commands);
    /* The GPU form's reductions combine, in and out of order. */
    training_form = SBN_FORM_GPU;
    for (int kind = 0; kind < 2; ++kind) {
        with_training(&one, queues[kind], 0, check_commands);
        with_training(&sliced, queues[kind], 0, check_commands);
    }
    clReleaseCommandQueue(queues[1]);
}
