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
                     large = {"wide", 20, 1100, {2, 1}, 3e30f};

/* Whether a group of two queues combines on its devices. */
static int combines(cl_command_queue first, cl_command_queue second, cl_bool unified)
{
    cl_command_queue both[] = {first, second};
    wraps_device_says(CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
    sbn_group *group = fixture_rank(both, 2, NULL);
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
    if (clCreateSubDevices(training_device.device, halves, 2, parts, NULL) != CL_SUCCESS) {
        tap_skip("the device has no two units apart");
        return;
    }
    cl_context context = clCreateContext(NULL, 2, parts, NULL, NULL, &code);
    must(code, "clCreateContext");
    for (int i = 0; i < 2; ++i) {
        of[i] = clCreateCommandQueue(context, parts[i], 0, &code);
        must(code, "clCreateCommandQueue");
    }
    tap_ok(combines(of[0], of[1], CL_TRUE), "two devices that work in the host's memory combine");
    tap_ok(!combines(of[0], of[1], CL_FALSE), "two with memory of their own do not");
    for (int i = 0; i < 2; ++i) {
        clReleaseCommandQueue(of[i]);
        clReleaseDevice(parts[i]);
    }
    clReleaseContext(context);
}

static void checks(void)
{
    queues[1] = fixture_queue(&training_device, 1);
    for (int kind = 0; kind < 2; ++kind) {
        check_calls(&one, queues[kind]);
        check_calls(&two, queues[kind]);
        check_calls(&large, queues[kind]);
        for (int on_host = 0; on_host < 2; ++on_host) {
            check_commands(&one, queues[kind], on_host);
            check_commands(&two, queues[kind], on_host);
        }
        check_copies(&one, queues[kind]);
        check_copies(&two, queues[kind]);
        check_late_errors(&one, queues[kind]);
        check_late_errors(&two, queues[kind]);
        check_failed_forward(&two, queues[kind]);
        check_failed_on_host(&one, queues[kind]);
        check_failed_on_host(&two, queues[kind]);
        check_loading(&two, queues[kind]);
        check_failed_evaluation(&one, queues[kind]);
        check_failed_updates(&one, queues[kind]);
        check_failed_updates(&two, queues[kind]);
    }
    check_devices();
    for (int on_host = 0; on_host < 2; ++on_host)
        check_commands(&two, NULL, on_host);
    check_refused_commands(&two);
    /* The GPU form's reductions combine, in and out of order. */
    training_form = SBN_FORM_GPU;
    for (int kind = 0; kind < 2; ++kind) {
        check_commands(&one, queues[kind], 0);
        check_commands(&sliced, queues[kind], 0);
    }
    clReleaseCommandQueue(queues[1]);
}

int main(void)
{
    wraps_build_once();
    return fixture_main(&training_device, &queues[0], checks);
}
