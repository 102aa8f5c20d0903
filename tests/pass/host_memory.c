/*
 * A shard in memory of the host is free when a call returns, after an error too; what is read before the commands
 * run. What is refused: tests/pass/arguments_buffers.c. The bits of the same tensors in buffers: tests/pass/same.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pass/pass.h"
#include "support/main.h"
#include "support/refused.h"
#include "support/stalls.h"
#include "support/wraps.h"

enum { SAMPLES = 4, CHANNELS = 5, PLANE = 7, LARGE_PLANE = 64, BUFFERS = 12, ALIGNMENT = 64 };
enum { MOST = ALIGNMENT / sizeof(float) + SAMPLES * CHANNELS * LARGE_PLANE };

static _Alignas(ALIGNMENT) float memory_of[BUFFERS][MOST];

/* An element before each keeps buffers off the begin of a page. */
static sbn_shard shard_at(size_t offset, size_t plane)
{
    sbn_shard s = SHARD_WITH(.dims = 3, .shape = {SAMPLES, CHANNELS, plane},
                             .memory = SBN_MEMORY_HOST);
    sbn_buffer *const all[BUFFERS] =
        {&s.x,      &s.y,    &s.dy,          &s.dx,        &s.residual,     &s.residual_grad,
         &s.weight, &s.bias, &s.weight_grad, &s.bias_grad, &s.running_mean, &s.running_var};
    for (size_t i = 0; i < BUFFERS; ++i)
        *all[i] = (sbn_buffer){(cl_mem)memory_of[i], offset};
    return s;
}

/* A group fails with its device: each pass has another one. Of bfloat16s, channels last, with a residual and a mask. */
static life live(cl_command_queue on, int host_combines)
{
    sbn_group *group = fixture_group(on, 1, SBN_FORM_CPU);
    group->combines = group->combines && !host_combines;
    return LIVE_WITH(group, .channels = CHANNELS, .type = SBN_BF16, .layout = SBN_LAYOUT_NHWC,
                     .residual = 1, .activation = SBN_RELU);
}

/* The n-th call fails; the memory is free at once. Returns how often both passes read and finish if none does. */
static long check_failures(int host_combines, int copied)
{
    static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    const sbn_shard shard = shard_at(1, PLANE);
    int failed = 0, silent = 0, status = 1;
    long calls = 0;
    for (int n = 1; status; ++n) {
        life l = live(queue, host_combines);
        if (copied)
            wraps_device_says(CL_DEVICE_TYPE, &gpu, sizeof gpu);
        calls = wraps_calls[WRAP_READ] + wraps_calls[WRAP_FINISH];
        wraps_fail(WRAP_ANY, n);
        status = sbn_forward(l.layer, &shard, l.saved, 0, NULL);
        if (!status)
            status = sbn_backward(l.layer, &shard, l.saved, 0, NULL);
        wraps_fail(WRAP_ANY, 0);
        wraps_device_says(0, NULL, 0);
        failed += status != SBN_SUCCESS;
        silent += status && !sbn_last_error()[0];
        fixture_die(&l);
    }
    tap_ok(failed > 20 && !silent, "%s%s: %d calls fail, one in each pass",
           host_combines ? "the host combines" : "in one launch", copied ? ", copies" : "", failed);
    return wraps_calls[WRAP_READ] + wraps_calls[WRAP_FINISH] - calls;
}

/* A command that fails on the device is the pass's own failure, though others have followed. */
static void check_condemned(cl_command_queue on, int host_combines, operation op)
{
    const sbn_shard shard = shard_at(1, PLANE);
    int told = 0, n = 1, condemned = 1;
    for (; condemned; ++n) {
        life l = live(on, host_combines);
        wraps_condemn(n);
        const int status = fixture_pass(op, l.layer, &shard, l.saved, 0, NULL);
        condemned = wraps_condemned != NULL;
        wraps_condemn(0);
        told += condemned && status == CL_OUT_OF_RESOURCES;
        fixture_die(&l);
    }
    tap_ok(told > 0 && told == n - 2, "%d of %d failed commands of %s are told at once", told,
           n - 2, operation_names[op]);
}

/* So it is of one before the last, of a pass that has only been begun. */
static void check_begun(void)
{
    const sbn_shard shard = shard_at(1, PLANE);
    const life l = live(queue, 0);
    sbn_pass *pass;
    must(sbn_forward_begin(l.layer, &shard, l.saved, 0, &pass), "begin");
    wraps_condemn_event(pass->layer_passes->work->last);
    expect(sbn_pass_end(pass, NULL), CL_OUT_OF_RESOURCES,
           "which had only been enqueued, has failed", "the end of what was begun");
    wraps_condemn(0);
    fixture_die(&l);
}

/* Weights and running statistics that a pass reads ahead of its commands: behind the wait list. */
static void check_read_ahead(void)
{
    sbn_shard shard = shard_at(1, PLANE);
    float mean[CHANNELS], var[CHANNELS];
    life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = CHANNELS,
                       .activation = SBN_LEAKY_RELU, .from_output = 1);
    const sbn_buffer *const read[] = {&shard.weight, &shard.running_mean, &shard.running_var};
    for (int i = 0; i < 3; ++i)
        for (int c = 0; c < CHANNELS; ++c)
            ((float *)read[i]->mem)[1 + c] = (float)(i + c);
    shard.residual = shard.residual_grad = (sbn_buffer)SBN_BUFFER_INIT;
    cl_event gate = fixture_gate(&device);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    shard.num_wait = 1;
    shard.wait_list = &gate;
    REFUSED(sbn_forward(l.layer, &shard, l.saved, 0, NULL), "weight: |in channel 0|got 0");
    must(sbn_evaluate(l.layer, &shard), "sbn_evaluate");
    must(sbn_batchnorm_running_stats(l.layer, mean, var, NULL), "sbn_batchnorm_running_stats");
    tap_ok(mean[0] == 1 && mean[4] == 5 && var[0] == 2 && var[4] == 6,
           "evaluation leaves the statistics in the layer");
    const long made = wraps_calls[WRAP_CREATE_BUFFER], written = wraps_calls[WRAP_WRITE];
    must(sbn_evaluate(l.layer, &shard), "sbn_evaluate");
    tap_ok(wraps_calls[WRAP_CREATE_BUFFER] < made + 2 && wraps_calls[WRAP_WRITE] == written,
           "a buffer on x or y is kept for it, and no table is written of the same statistics");
    for (int n = 1, status = 1; status; ++n) {
        wraps_fail(WRAP_FINISH, n);
        status = sbn_evaluate(l.layer, &shard);
        tap_ok(!status == (wraps_failed < 0), "clFinish no. %d: %s", n, sbn_strerror(status));
    }
    wraps_fail(WRAP_FINISH, 0);
    clReleaseEvent(gate);
    gate = fixture_gate(&device);
    must(clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES), "clSetUserEventStatus");
    expect(sbn_forward(l.layer, &shard, l.saved, 0, NULL),
           CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, "clWaitForEvents", "an event fails");
    clReleaseEvent(gate);
    fixture_die(&l);
}

static const float late[CHANNELS] = {1, 2, 3, 4, 5};

static void CL_CALLBACK write_late(void *to)
{
    pause_for(0.05);
    memcpy(*(float **)to, late, sizeof late);
}

/* A command of the caller's, which writes to memory of the host. */
static cl_event enqueue_late(cl_command_queue on, float *to)
{
    cl_event event;
    must(clEnqueueNativeKernel(on, write_late, &to, sizeof to, 0, NULL, NULL, 0, NULL, &event),
         "clEnqueueNativeKernel");
    must(clFlush(on), "clFlush");
    return event;
}

/* 1 if the event has completed when the call returns, though its wait list does so late. */
static int is_complete(const life *l, sbn_shard *shard, operation op, cl_command_queue other)
{
    float written[CHANNELS] = {0};
    cl_event given = enqueue_late(other, written), event = NULL;
    cl_int state = CL_QUEUED;
    shard->num_wait = 1;
    shard->wait_list = &given;
    shard->event = &event;
    must(fixture_pass(op, l->layer, shard, l->saved, 0, NULL), operation_names[op]);
    must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
         "clGetEventInfo");
    const int good = state == CL_COMPLETE && memcmp(written, late, sizeof late) == 0;
    must(clWaitForEvents(2, (const cl_event[]){given, event}), "clWaitForEvents");
    clReleaseEvent(event);
    clReleaseEvent(given);
    return good;
}

/* An empty shard has no command of its own, and perhaps no buffer. */
static void check_empty(cl_command_queue on, cl_command_queue other, const char *order)
{
    life l = LIVE_WITH(fixture_group(on, 1, SBN_FORM_CPU), .channels = CHANNELS);
    sbn_shard bare = SHARD_WITH(.dims = 3, .shape = {0, CHANNELS, PLANE},
                                .memory = SBN_MEMORY_HOST);
    sbn_shard full = shard_at(1, PLANE);
    full.shape[0] = 0;
    for (operation op = FORWARD; op <= EVALUATE; op += EVALUATE - FORWARD)
        tap_ok(is_complete(&l, &bare, op, other) + is_complete(&l, &full, op, other) == 2,
               "%s, %s: the event of an empty shard has completed, too", order,
               operation_names[op]);
    fixture_die(&l);
}

/* On a queue in order, statistics and weights that an earlier command of the caller's writes need no wait list. */
static void check_behind_the_queue(void)
{
    sbn_shard shard = shard_at(1, PLANE);
    float *const given = (float *)shard.running_mean.mem + shard.running_mean.offset;
    float mean[CHANNELS];
    life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = CHANNELS);
    memset(given, 0, sizeof mean);
    clReleaseEvent(enqueue_late(queue, given));
    must(sbn_evaluate(l.layer, &shard), "sbn_evaluate");
    must(sbn_batchnorm_running_stats(l.layer, mean, NULL, NULL), "sbn_batchnorm_running_stats");
    tap_ok(memcmp(mean, late, sizeof late) == 0, "evaluation reads statistics behind the queue");
    fixture_die(&l);
}

/* So does x, and what else a pass reads, of which copies are made with the buffers: waits come first. */
static void check_copied_behind_the_queue(void)
{
    static const int waits[] = {WRAP_WAIT, WRAP_FINISH};
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = CHANNELS,
                             .affine = OFF);
    cl_event given = fixture_gate(&device);
    const sbn_shard shard = SHARD_WITH(.dims = 2, .shape = {1, CHANNELS}, .memory = SBN_MEMORY_HOST,
                                       .x = SBN_HOST_BUFFER(memory_of[0]),
                                       .y = SBN_HOST_BUFFER(memory_of[1]), .num_wait = 1,
                                       .wait_list = &given);
    must(clSetUserEventStatus(given, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_evaluate(l.layer, &shard), "sbn_evaluate");
    l.group->replicas->host_memory = SBN_HOST_MEMORY_COPIED;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; ++i) {
        const long made = wraps_calls[WRAP_CREATE_BUFFER];
        const int status = WITH_FAILURE(waits[i], 1, sbn_evaluate(l.layer, &shard));
        tap_ok(status && wraps_calls[WRAP_CREATE_BUFFER] == made,
               "%s comes before buffers with copies", wraps_names[waits[i]]);
    }
    clReleaseEvent(given);
    fixture_die(&l);
}

/*
 * An empty shard has no sums that its queue is waited for: its statistics are behind that queue all the same. Queues
 * are finished twice besides: once to learn how the driver keeps memory of the host, and at the end.
 */
static void check_empty_behind_the_queue(void)
{
    float mean[CHANNELS] = {0}, var[CHANNELS];
    sbn_shard shards[2] = {shard_at(1, PLANE), SHARD_WITH(.dims = 3, .shape = {0, CHANNELS, PLANE},
                                                          .memory = SBN_MEMORY_HOST,
                                                          .running_mean = SBN_HOST_BUFFER(mean),
                                                          .running_var = SBN_HOST_BUFFER(var))};
    const cl_command_queue queues[2] = {queue, fixture_queue(&device, 0)};
    float *const given = (float *)shards->running_mean.mem + shards->running_mean.offset;
    life l = LIVE_WITH(GROUP_WITH(queues, .replicas = 2), .channels = CHANNELS);
    l.group->combines = 0;
    memcpy(given, late, sizeof late);
    memcpy(var, (float *)shards->running_var.mem + shards->running_var.offset, sizeof var);
    clReleaseEvent(enqueue_late(queues[1], mean));
    long finished = -wraps_calls[WRAP_FINISH];
    must(sbn_forward(l.layer, shards, l.saved, 0, NULL), "sbn_forward");
    finished += wraps_calls[WRAP_FINISH];
    tap_ok(memcmp(mean, given, sizeof mean) == 0 && memcmp(mean, late, sizeof late) != 0 &&
               finished == 5,
           "forward updates an empty shard's statistics behind the queue: %ld", finished);
    fixture_end(l.layer, l.saved);
    const long waits = wraps_calls[WRAP_WAIT];
    must(sbn_group_destroy(l.group), "sbn_group_destroy");
    tap_ok(wraps_calls[WRAP_WAIT] > waits, "the end of a group waits for its commands");
    clReleaseCommandQueue(queues[1]);
}

/* One of x and dy ends with a page that nothing may be read behind; the rows of the other are further apart. */
static void check_end_of_page(void)
{
    enum { ROWS = 257, ROW = 3, PITCH = 13 };
    static float spread[ROWS * PITCH], y[ROWS * ROW], sums[2][ROW];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(pages == MAP_FAILED || mprotect(pages + page, page, PROT_NONE), "a page without access");
    float *last = (float *)(void *)(pages + page) - ROWS * ROW, weight[ROW] = {1, 1, 1};
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = ROW,
                             .layout = SBN_LAYOUT_NHWC, .track_running_stats = OFF);
    for (int dy_is_last = 0; dy_is_last < 2; ++dy_is_last) {
        float *x = dy_is_last ? spread : last, *dy = dy_is_last ? last : spread;
        sbn_shard s = SHARD_WITH(.dims = 3, .shape = {1, ROW, ROWS}, .memory = SBN_MEMORY_HOST,
                                 .x = {(cl_mem)x}, .y = {(cl_mem)y}, .dy = {(cl_mem)dy},
                                 .weight = {(cl_mem)weight}, .bias = {(cl_mem)weight});
        for (int view = 0; view < 2; ++view) {
            *(dy_is_last ? &s.x_pitch : &s.dy_pitch) = view ? PITCH : 0;
            s.weight_grad.mem = (cl_mem)sums[view];
            for (int i = 0; i < ROWS * ROW; ++i)
                last[i] = spread[view ? i / ROW * PITCH + i % ROW : i] = (float)(i * i % 61);
            fixture_train(&l, &s);
        }
        tap_ok(memcmp(sums[0], sums[1], sizeof *sums) == 0 && sums[0][0] > 1,
               "nothing is read behind %s", dy_is_last ? "dy" : "x");
    }
    fixture_die(&l);
    munmap(pages, 2 * page);
}

/* Layers of a call add to the same gradients, unless each would have a copy of them. */
static void check_shared_gradients(void)
{
    float sums[2][CHANNELS];
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = CHANNELS,
                             .track_running_stats = OFF);
    const life second = LIVE_WITH(l.group, .channels = CHANNELS, .track_running_stats = OFF);
    sbn_shard one = shard_at(1, PLANE), other = shard_at(1, PLANE);
    other.y = one.residual;
    other.dx = one.residual_grad;
    one.residual = one.residual_grad = other.residual = other.residual_grad =
        (sbn_buffer)SBN_BUFFER_INIT;
    const float *const bias_grad = (float *)one.bias_grad.mem + one.bias_grad.offset;
    for (size_t i = 0; i < SAMPLES * CHANNELS * PLANE; ++i)
        ((float *)one.dy.mem)[one.dy.offset + i] = 1;
    const sbn_branch branches[] = {{sizeof(sbn_branch), l.layer, &one, l.saved, 0},
                                   {sizeof(sbn_branch), second.layer, &other, second.saved,
                                    SBN_ACCUMULATE_GRADIENTS}};
    must(sbn_forward(l.layer, &one, l.saved, 0, NULL), "sbn_forward");
    must(sbn_forward(second.layer, &other, second.saved, 0, NULL), "sbn_forward");
    for (int count = 1; count <= 2; ++count) {
        RIGHT(sbn_backward_branches(branches, (size_t)count, NULL));
        memcpy(sums[count - 1], bias_grad, sizeof *sums);
    }
    tap_ok(sums[0][0] == SAMPLES * PLANE && sums[1][0] == 2 * sums[0][0], "two layers add: %g",
           (double)sums[1][0]);
    l.group->replicas->host_memory = SBN_HOST_MEMORY_COPIED;
    REFUSED(sbn_backward_branches(branches, 2, NULL),
            "^branches[1]: |weight_grad must not overlap weight_grad of layer");
    l.group->replicas->host_memory = SBN_HOST_MEMORY_USED;
    fixture_end(second.layer, second.saved);
    fixture_die(&l);
}

/* Kernels of the GPU form load vectors, and a GPU's driver may use memory of the host as it is, aligned or not. */
static void check_alignment(void)
{
    enum { VALUES = 61 };
    static const cl_device_type gpu = CL_DEVICE_TYPE_GPU;
    static float aligned[BUFFERS][MOST];
    for (size_t offset = 0; offset < 2; ++offset) {
        const sbn_shard shard = shard_at(offset, LARGE_PLANE);
        const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_GPU), .channels = CHANNELS,
                                 .residual = 1, .activation = SBN_RELU);
        memset(memory_of, 0, sizeof memory_of);
        for (int i = 0; i < BUFFERS; ++i)
            for (int j = 0; j < SAMPLES * CHANNELS * LARGE_PLANE; ++j)
                memory_of[i][offset + (size_t)j] = (float)(1 + (7 * i + j * j) % VALUES);
        wraps_device_says(CL_DEVICE_TYPE, &gpu, sizeof gpu);
        fixture_train(&l, &shard);
        wraps_device_says(0, NULL, 0);
        if (!offset)
            memcpy(aligned, memory_of, sizeof aligned);
        fixture_die(&l);
    }
    tap_ok(memcmp(memory_of[0] + 1, aligned, sizeof aligned - sizeof **aligned) == 0 &&
               *aligned[9] > VALUES,
           "memory for a GPU may begin anywhere: bias_grad is %g", (double)*aligned[9]);
}

void checks(void)
{
    check_behind_the_queue();
    check_copied_behind_the_queue();
    check_empty_behind_the_queue();
    check_end_of_page();
    check_shared_gradients();
    check_read_ahead();
    check_begun();
    cl_command_queue unordered = fixture_queue(&device, 1);
    check_empty(queue, unordered, "in order");
    check_empty(unordered, queue, "out of order");
    check_condemned(queue, 0, EVALUATE);
    for (int host_combines = 0; host_combines < 2; ++host_combines) {
        check_condemned(queue, host_combines, FORWARD);
        check_condemned(unordered, host_combines, FORWARD);
        const long in_place = check_failures(host_combines, 0);
        const long fetched = check_failures(host_combines, 1) - in_place;
        tap_ok(fetched == 2 + 7 - 1 + 2 * host_combines,
               "inputs are waited for, y, running statistics and four gradients are fetched where "
               "memory is copied, which is not tried of a GPU: %ld calls",
               fetched);
    }
    clReleaseCommandQueue(unordered);
    check_alignment();
}
