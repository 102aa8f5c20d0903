/*
 * A rank's requests: their order where passes overlap, what there is no memory for, a rank that has no replicas. The
 * host's update of a replica's running statistics.
 */
#include <string.h>

#include "group/group.h"
#include "support/main.h"
#include "support/refused.h"
#include "support/stalls.h"
#include "support/wraps.h"

/* Each request's tag, times 1000, and words. The other of two ranks makes the same, but for one that is held back. */
static size_t asked[32];
static int count, held = -1, other_fails;

static int start(void *context, int tag, int64_t *words, size_t length, void **request)
{
    (void)context;
    for (size_t i = 0; i < length; ++i)
        words[i] *= 2;
    words[0] += other_fails && tag == SBN_TAG_HEADER;
    asked[count] = 1000 * (size_t)tag + length;
    *request = &asked[count++];
    return 0;
}

static int test(void *context, void *request, int *done)
{
    (void)context;
    *done = held < 0 || request != &asked[held];
    return 0;
}

static const sbn_transport two = {sizeof two, .world_size = 2, .start = start, .test = test};
static slice slices[2]; /* of 3 channels and of 5 */

/* Is the pass ready, when there have been so many requests and some time? */
static int progress(sbn_pass *pass, int requests)
{
    int ready = 0;
    for (int i = 0; i < 20 || (count < requests && i < 60000); ++i) {
        must(sbn_pass_progress(pass, &ready), "sbn_pass_progress");
        pause_for(0.001);
    }
    return ready;
}

/* On a queue without order; what the first pass reads comes late. The second one's sums may never come. */
static void check_order(int times_out)
{
    cl_command_queue unordered = fixture_queue(&device, 1);
    const life l = LIVE_WITH(GROUP_WITH(&unordered, .transport = &two, .timeout = 0.3),
                             .channels = 3);
    const life behind = LIVE_WITH(l.group, .channels = 5);
    cl_event gate = fixture_gate(&device);
    sbn_shard late = slices[0].shard;
    sbn_pass *first, *second;
    late.num_wait = 1;
    late.wait_list = &gate;
    count = 0;
    RIGHT(sbn_forward_begin(l.layer, &late, l.saved, 0, &first));
    RIGHT(sbn_forward_begin(behind.layer, &slices[1].shard, behind.saved, 0, &second));
    progress(second, 2);
    tap_ok(count == 2, "sums wait for those of the pass before: %d requests", count);
    held = 2 + times_out;
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    progress(second, 4);
    tap_ok(!progress(second, 4) && count == 4 && asked[2] == 1000 * SBN_TAG_WORDS + 2 + 8 * 3 &&
               asked[3] == 1000 * SBN_TAG_WORDS + 2 + 8 * 5,
           "but not for the others' to come, as the pass does: %d requests", count);
    held = times_out ? 3 : -1;
    expect(sbn_pass_end(second, NULL), times_out ? SBN_TIMEOUT : SBN_SUCCESS,
           times_out ? "waited 0.3 s" : "", "the end");
    REFUSED(sbn_group_destroy(l.group), "group: expected no pass of it under way, got 1");
    RIGHT(sbn_pass_end(first, NULL));
    held = -1;
    clReleaseEvent(gate);
    fixture_end(behind.layer, behind.saved);
    fixture_die(&l);
    clReleaseCommandQueue(unordered);
}

/* For a header with room for sums, for a rank that has failed, for sums in the wide format. */
static void check_memory(int way)
{
    const sbn_shard *shard = &slices[0].shard;
    const life l = LIVE_WITH(GROUP_WITH(&queue, .transport = &two), .channels = 3);
    sbn_pass *pass;
    other_fails = way == 1;
    if (way == 2)
        buffer_fill(&slices[0], &shard->x, slices[0].elements, 3e30f);
    for (int i = 0; i < 4 && way == 0; ++i)
        must(sbn_forward(l.layer, shard, l.saved, 0, NULL), "sbn_forward");
    wraps_fail(WRAP_ALLOCATE, way == 0);
    RIGHT(sbn_forward_begin(l.layer, shard, l.saved, 0, &pass));
    expect(WITH_FAILURE(WRAP_ALLOCATE, way > 0, sbn_pass_end(pass, NULL)), SBN_OUT_OF_MEMORY,
           "memory left for", "the end");
    expect(sbn_forward(l.layer, shard, l.saved, 0, NULL), SBN_GROUP_FAILED,
           "memory left for forward of layer \"batchnorm\", nor to tell the other ranks", "then");
    fixture_die(&l);
}

/* Where there is no memory for a layer of more channels, one of fewer has its own, or is given it. */
static void check_larger(int function)
{
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_AUTO), .channels = 3);
    const life larger = LIVE_WITH(l.group, .channels = 5);
    int status = SBN_OUT_OF_MEMORY, n = 0;
    l.group->combines = 0;
    while (status && n < 100) {
        fixture_train(&l, &slices[0].shard);
        status = WITH_FAILURE(function, ++n,
                              sbn_forward(larger.layer, &slices[1].shard, larger.saved, 0, NULL));
    }
    must(status, "sbn_forward");
    tap_ok(n > 1, "%d failures to give a larger layer memory", n - 1);
    fixture_end(larger.layer, larger.saved);
    fixture_die(&l);
}

/* Running statistics of the last of two replicas are read behind what its queue has: no outputs are enqueued before. */
static void check_given(void)
{
    const cl_command_queue queues[] = {queue, fixture_queue(&device, 0)};
    const life l = LIVE_WITH(GROUP_WITH(queues, .replicas = 2), .channels = 3);
    sbn_shard shards[] = {slices[0].shard, slices[0].shard};
    sbn_pass *pass;
    int ready = 0;
    l.group->combines = 0;
    shards[1].y = shards[1].dx;
    shards[1].running_mean = shards[1].weight_grad;
    shards[1].running_var = shards[1].bias_grad;
    must(sbn_forward_begin(l.layer, shards, l.saved, 0, &pass), "begin");
    while (!ready)
        must(sbn_pass_progress(pass, &ready), "sbn_pass_progress");
    const long launches = wraps_calls[WRAP_LAUNCH];
    expect(WITH_FAILURE(WRAP_READ, 1, sbn_pass_end(pass, NULL)), CL_OUT_OF_RESOURCES,
           "running statistics", "a read of them fails");
    tap_ok(wraps_calls[WRAP_LAUNCH] == launches, "... before outputs are launched: %ld",
           wraps_calls[WRAP_LAUNCH] - launches);
    fixture_die(&l);
    clReleaseCommandQueue(queues[1]);
}

/* Alone, without replicas, by a transport of an older program, behind whose end there is something else. */
static void check_bare(void)
{
    sbn_transport older = two;
    older.size = offsetof(sbn_transport, missing);
    older.world_size = 1;
    memset(&older.missing, 1, sizeof older.missing);
    const life l = LIVE_WITH(GROUP_WITH(NULL, .transport = &older), .channels = 3);
    tap_ok(!l.group->communicator.transport.missing && !l.group->combines,
           "what the transport lacks is off, and no device combines");
    RIGHT(sbn_forward(l.layer, NULL, l.saved, 0, NULL));
    fixture_die(&l);
}

void checks(void)
{
    for (size_t i = 0; i < 2; ++i)
        slice_open(&slices[i], &device, queue, 0, 2, 3 + 2 * i, 9, 1);
    check_order(0);
    check_order(1);
    for (int way = 0; way < 3; ++way)
        check_memory(way);
    check_larger(WRAP_ALLOCATE);
    check_larger(WRAP_CREATE_BUFFER);
    check_given();
    check_bare();
    slices_close(slices, 2);
}
