/*
 * Passes that devices combine, which only enqueue: they have the bits of passes that the host
 * combines, in groups of one replica and of several, on queues of both kinds; they neither wait nor
 * allocate (on_device_calls.c), even if their inputs are not ready; statistics read later are those
 * of the passes before (on_device_late.c).
 */
#include <math.h>
#include <string.h>

#include "group/group.h"
#include "pass/on_device_training.h"
#include "support/programs_kept.h"
#include "support/wraps.h"

static cl_command_queue queues[2]; /* in order, and not */

static const task problems[] = {
    {"one replica", "mb3ic5il300", 0},
    {"channels of several work-groups", "mb3ic70il7,clamp,cumulative", 0},
    {"planes of one", "mb40ic70,last", 0},
    {"two replicas", "mb3ic20il300,last,split2-1", 0},
    {"gradients of the group", "mb3ic6il40,split2-1,global", 0},
    {"some without values", "mb3ic6il40,split0-2-0-1", 0},
    {"as many as a kernel takes", "mb6ic6il40,split1-2-1-2,cumulative", 0},
    {"no values", "mb0ic6il40", 0},
    {"wide, large", "mb3ic20il1100,split2-1", 3e30f},
    {"wide, small", "mb2ic70il30,last,clamp", 1e-20f},
    {"wide, of many replicas", "mb4ic7il50,split1-0-2-1,global", 3e30f},
    {"infinite", "mb3ic20il300,split2-1", INFINITY},
    {"no numbers", "mb2ic20il30,last", NAN},
};

/* Two steps, the second accumulates; then evaluation and recomputation by what they left. */
static uint64_t digest_training(training *t, sbn_result results[2])
{
    train(t, 0, results);
    train(t, SBN_ACCUMULATE_GRADIENTS, results);
    uint64_t digest = digest_outputs(DIGEST_START, t);
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    digest = digest_outputs(digest, t);
    must(sbn_recompute(t->layer, t->shards, t->saved), "sbn_recompute");
    digest = digest_outputs(digest, t);
    return digest_statistics(digest, t);
}

static void check_bits(const task *p, cl_command_queue queue)
{
    uint64_t digests[2];
    sbn_result results[2][2] = {{SBN_RESULT_INIT, SBN_RESULT_INIT},
                                {SBN_RESULT_INIT, SBN_RESULT_INIT}};
    for (int on_host = 0; on_host < 2; ++on_host) {
        training t;
        training_open(&t, p, queue, on_host);
        digests[on_host] = digest_training(&t, results[on_host]);
        training_close(&t);
    }
    const int values = results[0]->count > 0;
    const int is_wide = p->scale > 0.0f && !isinf(p->scale);
    tap_ok(digests[0] == digests[1], "%s, a queue %s order: the host's bits", p->what,
           queue == queues[1] ? "without" : "in");
    tap_ok(results[0][0].wide == -values && results[0][1].wide == -values &&
               results[1][0].wide == is_wide && results[0][0].count == results[1][0].count,
           "%s: the format is the devices' affair: %d, on the host %d", p->what, results[0][0].wide,
           results[1][0].wide);
}

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
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    queues[1] = fixture_queue(&training_device, 1);
    for (int kind = 0; kind < 2; ++kind)
        for (size_t i = 0; i < PROBLEMS; ++i)
            check_bits(&problems[i], queues[kind]);
    for (int kind = 0; kind < 2; ++kind) {
        check_calls(&problems[0], queues[kind]);
        check_calls(&problems[3], queues[kind]);
        check_calls(&problems[8], queues[kind]);
        for (int on_host = 0; on_host < 2; ++on_host) {
            check_commands(&problems[0], queues[kind], on_host);
            check_commands(&problems[3], queues[kind], on_host);
        }
        check_copies(&problems[0], queues[kind]);
        check_copies(&problems[3], queues[kind]);
        check_failed_commands(&problems[6], queues[kind], WRAP_LAUNCH);
        check_failed_commands(&problems[9], queues[kind], WRAP_LAUNCH);
        check_failed_commands(&problems[10], queues[kind], WRAP_LAUNCH);
        check_failed_commands(&problems[10], queues[kind], WRAP_FILL);
        check_late_input(&problems[3], queues[kind], 1);
        check_late_input(&problems[0], queues[kind], 0);
        check_on_demand(&problems[3], queues[kind]);
        check_on_demand(&problems[8], queues[kind]);
        check_late_errors(&problems[0], queues[kind]);
        check_late_errors(&problems[3], queues[kind]);
    }
    check_devices();
    check_bits(&problems[3], NULL);
    for (int on_host = 0; on_host < 2; ++on_host)
        check_commands(&problems[3], NULL, on_host);
    check_late_input(&problems[3], NULL, 1);
    /* The GPU form's reductions combine, in and out of order, of all kinds; and fail in part. */
    training_form = SBN_FORM_GPU;
    for (int kind = 0; kind < 2; ++kind) {
        for (size_t i = 0; i < PROBLEMS; ++i)
            if (!strstr(problems[i].line, "split") || strstr(problems[i].line, "split1-0"))
                check_bits(&problems[i], queues[kind]);
        check_commands(&problems[0], queues[kind], 0);
        check_failed_commands(&problems[9], queues[kind], WRAP_LAUNCH);
    }
    training_form = SBN_FORM_AUTO;
    /* Devices without doubles combine, too. */
    training_options = "-D NO_DOUBLES";
    check_bits(&problems[0], queues[0]);
    check_bits(&problems[6], queues[0]);
    check_bits(&problems[8], queues[0]);
    clReleaseCommandQueue(queues[1]);
    programs_release();
}

int main(void)
{
    return fixture_main(&training_device, &queues[0], checks);
}
