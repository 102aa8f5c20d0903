/*
 * Passes that devices combine, which only enqueue: they neither wait nor allocate (on_device_calls.c), and
 * errors come late (on_device_late.c). Their bits, those of passes that the host combines: tests/pass/same; the
 * order of their commands: any_order.sh.
 */
#include "group/group.h"
#include "pass/on_device.h"
#include "support/wraps.h"

sbn_kernel_form training_form = SBN_FORM_AUTO;

/* Every third channel's x and dy times the problem's scale. */
static void scale(const slice *s, const sbn_buffer *buffer, const problem *p)
{
    static float data[200000];
    if (p->scale == 0.0f || s->elements == 0)
        return;
    buffer_read(s, buffer, s->elements, data);
    for (size_t i = 0; i < s->elements; ++i)
        if (i / s->plane % s->channels % 3 == 1)
            data[i] *= p->scale;
    buffer_write(s, buffer, s->elements, data);
}

void training_open(training *t, const problem *p, cl_command_queue on, int on_host)
{
    size_t first = 0;
    *t = (training){.p = p, .apart = !on, .replicas = p->samples[1] ? 2 : 1};
    for (size_t r = 0; r < t->replicas; ++r)
        t->queues[r] = t->apart ? fixture_queue(&device, 0) : on;
    t->group = GROUP_WITH(t->queues, .replicas = t->replicas, .form = training_form);
    must(!t->group->combines, "a group whose devices combine");
    t->group->combines = !on_host;
    t->given = fixture_gate(&device);
    must(clSetUserEventStatus(t->given, CL_COMPLETE), "clSetUserEventStatus");
    t->layer = LAYER_WITH(t->group, .channels = p->channels);
    t->saved = fixture_saved(t->layer);
    for (size_t r = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        slice_open(s, &device, t->queues[r], first, p->samples[r], p->channels, p->plane, 17);
        first += p->samples[r];
        scale(s, &s->shard.x, p);
        scale(s, &s->shard.dy, p);
        t->shards[r] = s->shard;
    }
}

void training_close(training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        must(clFinish(t->queues[r]), "clFinish");
        slice_close(&t->slices[r]);
        if (t->apart)
            clReleaseCommandQueue(t->queues[r]);
    }
    must(clReleaseEvent(t->given), "clReleaseEvent");
    fixture_end(t->layer, t->saved);
    must(sbn_group_destroy(t->group), "sbn_group_destroy");
}

/* Opens one, makes checks of it, and closes it. */
static void with_training(const problem *p, cl_command_queue on, int on_host, training_check *check)
{
    training t;
    training_open(&t, p, on, on_host);
    check(&t);
    training_close(&t);
}

void training_reset(const training *t)
{
    slices_reset(t->slices, t->replicas);
    must(sbn_batchnorm_reset_running_stats(t->layer), "reset");
}

uint64_t training_digest(uint64_t digest, const training *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        must(clFinish(t->queues[r]), "clFinish");
        digest = digest_slice(digest, &t->slices[r]);
    }
    return digest_layer(digest, t->layer, t->saved);
}

void training_wait(training *t, const cl_event *event, cl_uint count)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        t->shards[r].num_wait = count;
        t->shards[r].wait_list = event;
    }
}

void train(training *t, unsigned more)
{
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    must(sbn_forward(t->layer, t->shards, t->saved, 0, &results[0]), "sbn_forward");
    must(sbn_backward(t->layer, t->shards, t->saved, more, &results[1]), "sbn_backward");
}

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
    with_training(&two, NULL, 0, check_late_between_queues);
    /* The GPU form's reductions combine, in and out of order. */
    training_form = SBN_FORM_GPU;
    for (int kind = 0; kind < 2; ++kind) {
        with_training(&one, queues[kind], 0, check_commands);
        with_training(&sliced, queues[kind], 0, check_commands);
    }
    clReleaseCommandQueue(queues[1]);
}
