/*
 * Queues of both kinds: inputs that another queue writes, ordered by events alone; outputs that
 * another queue reads, ordered by the returned event alone; consecutive passes on an out-of-order
 * queue; and where the host combines.
 */
#include <string.h>

#include "group/group.h"
#include "support/main.h"

enum { REPLICAS = 3, CHANNELS = 5, PLANE = 300, SAMPLES = 2, ROUNDS = 8, SLOW = 1 << 25 };

static cl_command_queue producer; /* the program's own queue consumes */
static life now;
static cl_mem slow;

typedef struct replica {
    slice made;      /* by a queue in order, with all its buffers filled */
    sbn_shard shard; /* x and dy are written late, by the producer */
    cl_event events[2], done;
} replica;

static replica replicas[REPLICAS];

/* Writes the input after work that takes a while. */
static void produce(replica *r)
{
    const slice *s = &r->made;
    const size_t bytes = sizeof(float) * s->elements;
    const float zero = 0.0f;
    const sbn_buffer late[] = {r->shard.x, r->shard.dy}, from[] = {s->shard.x, s->shard.dy};
    for (int i = 0; i < 2; ++i)
        buffer_fill(s, &late[i], s->elements, PATTERN);
    must(clEnqueueFillBuffer(producer, slow, &zero, sizeof zero, 0, SLOW, 0, NULL, NULL), "fill");
    for (int i = 0; i < 2; ++i)
        must(clEnqueueCopyBuffer(producer, from[i].mem, late[i].mem, sizeof(float) * from[i].offset,
                                 sizeof(float) * late[i].offset, bytes, 0, NULL, &r->events[i]),
             "clEnqueueCopyBuffer");
    must(clFlush(producer), "clFlush");
    r->shard.num_wait = 2;
    r->shard.wait_list = r->events;
    r->shard.event = &r->done;
}

/* Reads an output on the program's own queue, after the pass's event and nothing else. */
static uint64_t consume(uint64_t digest, replica *r, const sbn_buffer *buffer, size_t count)
{
    static float data[SAMPLES * CHANNELS * PLANE];
    must(clEnqueueReadBuffer(queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                             sizeof(float) * count, data, 1, &r->done, NULL),
         "clEnqueueReadBuffer");
    return sbn__digest(digest, data, sizeof(float) * count);
}

static uint64_t run(operation op, int late)
{
    sbn_shard shards[REPLICAS];
    for (int i = 0; i < REPLICAS; ++i) {
        replica *r = &replicas[i];
        slice_reset(&r->made);
        if (late) {
            produce(r);
        } else {
            r->shard.num_wait = 0;
            r->shard.wait_list = NULL;
        }
        r->shard.event = &r->done;
        shards[i] = r->shard;
    }
    const unsigned flags = op == FORWARD ? SBN_KEEP_RUNNING_STATS : 0;
    must(fixture_pass(op, now.layer, shards, now.saved, flags, NULL), operation_names[op]);
    uint64_t digest = SBN_DIGEST_START;
    for (int i = 0; i < REPLICAS; ++i) {
        replica *r = &replicas[i];
        digest = consume(digest, r, &r->shard.y, r->made.elements);
        digest = consume(digest, r, &r->shard.dx, r->made.elements);
        digest = consume(digest, r, &r->shard.weight_grad, CHANNELS);
        digest = consume(digest, r, &r->shard.bias_grad, CHANNELS);
        events_release(&r->done, 1);
        events_release(r->events, 2);
    }
    return digest;
}

/* The same saved statistics filled again and again, each time for another y, without waiting. */
static void check_row(const char *kind)
{
    slice rows[ROUNDS][REPLICAS];
    sbn_shard shards[ROUNDS][REPLICAS];
    cl_event events[2 * ROUNDS][REPLICAS];
    uint64_t digests[2];
    for (int i = 0; i < ROUNDS; ++i)
        for (int r = 0; r < REPLICAS; ++r) {
            slice_open(&rows[i][r], &device, replicas[r].made.queue, (size_t)r * SAMPLES, SAMPLES,
                       CHANNELS, PLANE, 70u + (unsigned)i);
            shards[i][r] = rows[i][r].shard;
        }
    for (int turn = 0; turn < 2; ++turn) {
        for (int i = 0; i < 2 * ROUNDS; ++i) {
            sbn_shard *of = shards[i / 2];
            for (int r = 0; r < REPLICAS; ++r)
                of[r].event = &events[i][r];
            must(fixture_pass(i % 2 ? BACKWARD : FORWARD, now.layer, of, now.saved, 0, NULL),
                 "a pass");
            for (int r = 0; !turn && r < REPLICAS; ++r)
                must(clFinish(rows[i / 2][r].queue), "clFinish");
        }
        for (int i = 0; i < 2 * ROUNDS; ++i) {
            must(clWaitForEvents(REPLICAS, events[i]), "clWaitForEvents");
            events_release(events[i], REPLICAS);
        }
        digests[turn] = digest_slices(SBN_DIGEST_START, rows[0], ROUNDS * REPLICAS);
        slices_reset(rows[0], ROUNDS * REPLICAS);
    }
    tap_ok(digests[1] == digests[0], "%s: %d forwards and backwards in a row, one saved", kind,
           ROUNDS);
    slices_close(rows[0], ROUNDS * REPLICAS);
}

/* Running statistics set anew between evaluations that are not waited for; their input is late. */
static void check_evaluations(const char *kind)
{
    sbn_shard shards[REPLICAS];
    cl_event events[ROUNDS];
    cl_mem y[ROUNDS];
    const slice *s = &replicas[0].made;
    int good = 1;
    produce(&replicas[0]);
    for (int r = 0; r < REPLICAS; ++r) {
        shards[r] = replicas[r].shard;
        if (r > 0)
            shards[r].shape[0] = 0;
    }
    for (int i = 0; i < ROUNDS; ++i) {
        float mean[CHANNELS];
        for (int c = 0; c < CHANNELS; ++c)
            mean[c] = (float)i;
        y[i] = buffer_of(&device, queue, NULL, s->elements).mem;
        must(sbn_batchnorm_set_running_stats(now.layer, mean, NULL, NULL), "set");
        shards[0].y = (sbn_buffer){y[i], 0};
        shards[0].event = &events[i];
        must(sbn_evaluate(now.layer, shards), "sbn_evaluate");
    }
    float first[2][ROUNDS];
    for (int i = 0; i < ROUNDS; ++i) {
        must(clEnqueueReadBuffer(queue, y[i], CL_TRUE, 0, sizeof(float), &first[0][i], 1,
                                 &events[i], NULL),
             "clEnqueueReadBuffer");
        first[1][i] = first[0][0] - (float)i * (first[0][0] - first[0][1]);
        good = good && first[0][i] - first[1][i] < 1e-3f && first[1][i] - first[0][i] < 1e-3f;
        clReleaseMemObject(y[i]);
    }
    events_release(events, ROUNDS);
    events_release(replicas[0].events, 2);
    tap_ok(good && first[0][0] > first[0][1], "%s: %d evaluations, each by its own statistics",
           kind, ROUNDS);
}

/* kind: queues in order, a queue each out of order, one out of order for all; who combines. */
static uint64_t check_kind(int out_of_order, int shared, int on_host, const char *kind)
{
    cl_command_queue queues[REPLICAS];
    uint64_t digest = SBN_DIGEST_START;
    for (int i = 0; i < REPLICAS; ++i) {
        replica *r = &replicas[i];
        memset(r, 0, sizeof *r);
        queues[i] = shared && i > 0 ? queues[0] : fixture_queue(&device, out_of_order);
        slice_open(&r->made, &device, queues[i], (size_t)i * SAMPLES, SAMPLES, CHANNELS, PLANE, 60);
        r->shard = r->made.shard;
        r->shard.x = buffer_of(&device, producer, NULL, r->made.elements);
        r->shard.dy = buffer_of(&device, producer, NULL, r->made.elements);
    }
    now = LIVE_WITH(fixture_rank(queues, REPLICAS, NULL), .channels = CHANNELS);
    now.group->combines = now.group->combines && !on_host;
    for (operation op = FORWARD; op < OPERATIONS; ++op) {
        const uint64_t late = run(op, 1), early = run(op, 0);
        tap_ok(late == early, "%s: %s: inputs by another queue, outputs to another", kind,
               operation_names[op]);
        digest = sbn__digest(digest, &late, sizeof late);
    }
    check_row(kind);
    check_evaluations(kind);
    fixture_die(&now);
    for (int i = 0; i < REPLICAS; ++i) {
        slice_close(&replicas[i].made);
        clReleaseMemObject(replicas[i].shard.x.mem);
        clReleaseMemObject(replicas[i].shard.dy.mem);
        if (i == 0 || !shared)
            clReleaseCommandQueue(queues[i]);
    }
    return digest;
}

/*
 * A replica that wants nothing from a backward pass: its event is that of the pass's last command on its
 * queue, behind which x and dy may be overwritten. (PoCL's markers wait for all that is in the queue, those
 * of other drivers for their list alone.)
 */
static void check_no_outputs(void)
{
    enum { TWO = 2 };
    slice slices[TWO];
    sbn_shard shards[TWO];
    cl_event done = NULL, open = fixture_gate(&device);
    sbn_pass *pass;
    cl_command_type type = 0;
    const cl_command_queue unordered = fixture_queue(&device, 1);
    must(clSetUserEventStatus(open, CL_COMPLETE), "clSetUserEventStatus");
    slices_open(slices, shards, TWO, &device, unordered, SAMPLES, CHANNELS, PLANE, 61);
    now = LIVE_WITH(fixture_group(unordered, TWO, SBN_FORM_AUTO), .channels = CHANNELS);
    must(sbn_forward(now.layer, shards, now.saved, 0, NULL), "sbn_forward");
    shards[1].dx.mem = shards[1].weight_grad.mem = shards[1].bias_grad.mem = NULL;
    shards[1].num_wait = 1;
    shards[1].wait_list = &open;
    shards[1].event = &done;
    must(sbn_backward_begin(now.layer, shards, now.saved, 0, &pass), "sbn_backward_begin");
    must(sbn_pass_end(pass, NULL), "sbn_pass_end");
    must(clGetEventInfo(done, CL_EVENT_COMMAND_TYPE, sizeof type, &type, NULL), "clGetEventInfo");
    /* Under tests/pass/any_order.sh it is the program's own. */
    tap_ok(now.group->combines && (type == CL_COMMAND_NDRANGE_KERNEL || type == CL_COMMAND_USER),
           "without outputs the event is that of a kernel, 0x%x: got 0x%x",
           CL_COMMAND_NDRANGE_KERNEL, type);
    events_release(&done, 1);
    events_release(&open, 1);
    slices_close(slices, TWO);
    fixture_die(&now);
    clReleaseCommandQueue(unordered);
}

void checks(void)
{
    producer = fixture_queue(&device, 0);
    slow = fixture_buffer(&device, SLOW, NULL);
    const uint64_t in_order = check_kind(0, 0, 0, "in order");
    tap_ok(check_kind(1, 0, 0, "out of order") == in_order, "the same bits out of order");
    tap_ok(check_kind(1, 1, 0, "one queue out of order") == in_order, "the same bits on one queue");
    tap_ok(check_kind(1, 0, 1, "out of order, the host combines") == in_order,
           "the same bits where the host combines");
    check_no_outputs();
    clReleaseMemObject(slow);
    clReleaseCommandQueue(producer);
}
