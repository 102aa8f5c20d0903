/*
 * Passes that devices combine, which only enqueue: they have the bits of passes that the host
 * combines, in groups of one replica and of several, on queues of both kinds; they neither wait nor
 * allocate, even if their inputs are not ready; statistics read later are those of the passes
 * before.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/fixture.h"
#include "support/wraps.h"

enum { MOST_REPLICAS = 9, MOST_CHANNELS = 70, ROUNDS = 20, WARM_UP = 3 };

static fixture device;
static cl_command_queue queues[2]; /* in order, and not */

typedef struct problem {
    const char *what;
    size_t channels, plane, samples[MOST_REPLICAS];
    sbn_layout layout;
    sbn_eps_mode eps_mode;
    sbn_average average;
    float scale; /* of x and dy in every third channel; 0: 1 */
    unsigned flags;
} problem;

static const problem problems[] = {
    {"one replica", 5, 300, {3}, SBN_LAYOUT_NCHW, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, 0, 0},
    {"channels of several work-groups",
     70,
     7,
     {3},
     SBN_LAYOUT_NCHW,
     SBN_EPS_CLAMP,
     SBN_AVERAGE_CUMULATIVE,
     0,
     0},
    {"planes of one", 70, 1, {40}, SBN_LAYOUT_NHWC, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, 0, 0},
    {"two replicas", 20, 300, {2, 1}, SBN_LAYOUT_NHWC, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, 0, 0},
    {"gradients of the group",
     6,
     40,
     {2, 1},
     SBN_LAYOUT_NCHW,
     SBN_EPS_ADD,
     SBN_AVERAGE_MOMENTUM,
     0,
     SBN_GLOBAL_GRADIENTS},
    {"some without values",
     6,
     40,
     {0, 2, 0, 1},
     SBN_LAYOUT_NCHW,
     SBN_EPS_ADD,
     SBN_AVERAGE_MOMENTUM,
     0,
     0},
    {"more than a kernel takes",
     6,
     40,
     {1, 2, 1, 1, 2, 0, 1, 1, 1},
     SBN_LAYOUT_NCHW,
     SBN_EPS_ADD,
     SBN_AVERAGE_CUMULATIVE,
     0,
     0},
    {"no values", 6, 40, {0, 0}, SBN_LAYOUT_NCHW, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, 0, 0},
    {"wide, large", 20, 1100, {2, 1}, SBN_LAYOUT_NCHW, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, 3e30f, 0},
    {"wide, small", 70, 30, {2}, SBN_LAYOUT_NHWC, SBN_EPS_CLAMP, SBN_AVERAGE_MOMENTUM, 1e-20f, 0},
    {"wide, of many replicas",
     7,
     50,
     {1, 1, 2, 0, 1, 1},
     SBN_LAYOUT_NCHW,
     SBN_EPS_ADD,
     SBN_AVERAGE_MOMENTUM,
     3e30f,
     SBN_GLOBAL_GRADIENTS},
    {"infinite", 20, 300, {2, 1}, SBN_LAYOUT_NCHW, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, INFINITY, 0},
    {"no numbers", 20, 30, {2}, SBN_LAYOUT_NHWC, SBN_EPS_ADD, SBN_AVERAGE_MOMENTUM, NAN, 0},
};

/* A group with one layer and its replicas' buffers. */
typedef struct training {
    const problem *p;
    cl_command_queue queue;
    size_t replicas;
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice slices[MOST_REPLICAS];
    sbn_shard shards[MOST_REPLICAS];
} training;

static size_t replicas_of(const problem *p)
{
    size_t count = MOST_REPLICAS;
    while (count > 1 && p->samples[count - 1] == 0)
        --count;
    return count;
}

/* Every third channel's x and dy times the problem's scale. */
static void scale(const slice *s, const sbn_buffer *buffer, const problem *p)
{
    static float data[200000];
    if (p->scale == 0.0f || s->elements == 0)
        return;
    buffer_read(s, buffer, s->elements, data);
    for (size_t i = 0; i < s->elements; ++i) {
        const size_t c = p->layout == SBN_LAYOUT_NHWC ? i % s->channels
                                                      : i / s->plane % s->channels;
        if (c % 3 == 1)
            data[i] *= p->scale;
    }
    must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * s->elements, data, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

static void training_open(training *t, const problem *p, cl_command_queue queue, int on_host)
{
    cl_command_queue all[MOST_REPLICAS];
    size_t first = 0;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    *t = (training){.p = p, .queue = queue, .replicas = replicas_of(p)};
    for (size_t r = 0; r < t->replicas; ++r)
        all[r] = queue;
    config.queues = all;
    config.replicas = t->replicas;
    must(sbn_group_create(&config, &t->group), "sbn_group_create");
    must(t->group->combines ? 0 : 1, "a group whose devices combine");
    if (on_host)
        t->group->combines = 0;
    of_layer.channels = p->channels;
    of_layer.layout = p->layout;
    of_layer.eps_mode = p->eps_mode;
    of_layer.average = p->average;
    must(sbn_batchnorm_create(t->group, &of_layer, &t->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(t->layer, &t->saved), "sbn_saved_create");
    for (size_t r = 0; r < t->replicas; ++r) {
        slice *s = &t->slices[r];
        slice_open(s, &device, queue, first, p->samples[r], p->channels, p->plane, 17);
        first += p->samples[r];
        scale(s, &s->shard.x, p);
        scale(s, &s->shard.dy, p);
        t->shards[r] = s->shard;
    }
}

static void training_close(training *t)
{
    must(clFinish(t->queue), "clFinish");
    for (size_t r = 0; r < t->replicas; ++r)
        slice_close(&t->slices[r]);
    must(sbn_saved_destroy(t->saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(t->layer), "sbn_batchnorm_destroy");
    must(sbn_group_destroy(t->group), "sbn_group_destroy");
}

/* NaN count as one: which a device makes is its own choice. */
static uint64_t digest_values(uint64_t digest, float *values, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (isnan(values[i]))
            values[i] = (float)NAN;
    return digest_of(digest, values, sizeof *values * count);
}

static uint64_t digest_output(uint64_t digest, const slice *s, const sbn_buffer *b, size_t count)
{
    static float data[200000];
    buffer_read(s, b, count, data);
    return digest_values(digest, data, count);
}

static uint64_t digest_statistics(uint64_t digest, const training *t)
{
    float values[4][MOST_CHANNELS];
    int64_t batches;
    uint64_t count;
    must(sbn_batchnorm_running_stats(t->layer, values[0], values[1], &batches), "running stats");
    must(sbn_saved_stats(t->saved, values[2], values[3], &count), "sbn_saved_stats");
    for (int i = 0; i < 4; ++i)
        digest = digest_values(digest, values[i], t->p->channels);
    return digest_of(digest_of(digest, &batches, sizeof batches), &count, sizeof count);
}

static uint64_t digest_outputs(uint64_t digest, const training *t)
{
    must(clFinish(t->queue), "clFinish");
    for (size_t r = 0; r < t->replicas; ++r) {
        const slice *s = &t->slices[r];
        digest = digest_output(digest, s, &s->shard.y, s->elements);
        digest = digest_output(digest, s, &s->shard.dx, s->elements);
        digest = digest_output(digest, s, &s->shard.weight_grad, s->channels);
        digest = digest_output(digest, s, &s->shard.bias_grad, s->channels);
    }
    return digest;
}

static void train(training *t, unsigned more, sbn_result results[2])
{
    must(sbn_forward(t->layer, t->shards, t->saved, 0, &results[0]), "sbn_forward");
    must(sbn_backward(t->layer, t->shards, t->saved, t->p->flags | more, &results[1]),
         "sbn_backward");
}

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

static void check_bits(const problem *p, cl_command_queue queue)
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
           queue == queues[0] ? "in" : "without");
    tap_ok(results[0][0].wide == -values && results[0][1].wide == -values &&
               results[1][0].wide == is_wide && results[0][0].count == results[1][0].count,
           "%s: the format is the devices' affair: %d, on the host %d", p->what, results[0][0].wide,
           results[1][0].wide);
}

static const int waiting[] = {WRAP_WAIT,          WRAP_FINISH, WRAP_READ,          WRAP_WRITE,
                              WRAP_WRITE_RECT,    WRAP_MAP,    WRAP_CREATE_BUFFER, WRAP_ALLOCATE,
                              WRAP_CREATE_KERNEL, WRAP_BUILD,  WRAP_CREATE_PROGRAM};
enum { WAITING = sizeof waiting / sizeof *waiting };

static void count(long counts[WAITING])
{
    for (int i = 0; i < WAITING; ++i)
        counts[i] = wraps_calls(waiting[i]);
}

/* Steps of training, one behind the other; two forward passes are under way at once. */
static void train_ahead(training *t, sbn_saved *other)
{
    const sbn_branch both[] = {{sizeof(sbn_branch), t->layer, t->shards, t->saved, 0},
                               {sizeof(sbn_branch), t->layer, t->shards, other, 0}};
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    sbn_pass *passes[2];
    int ready = 0;
    train(t, 0, results);
    must(sbn_forward_begin(t->layer, t->shards, t->saved, 0, &passes[0]), "begin");
    must(sbn_forward_begin(t->layer, t->shards, other, 0, &passes[1]), "begin");
    must(sbn_pass_progress(passes[1], &ready), "progress");
    must(ready ? 0 : 1, "a pass that only enqueues is ready");
    must(sbn_pass_end(passes[1], NULL), "end");
    must(sbn_pass_end(passes[0], NULL), "end");
    must(sbn_forward_branches(&both[1], 1, NULL), "branches");
    must(sbn_backward_branches(&both[1], 1, NULL), "branches");
    must(sbn_recompute(t->layer, t->shards, t->saved), "sbn_recompute");
    train(t, SBN_ACCUMULATE_GRADIENTS, results);
}

/*
 * What a pass enqueues, doc/performance.md: for each replica with values the reduction, its combining,
 * both in the wide format, and the apply; or one launch in each format, where a replica is alone; in a
 * backward pass of several the gradients. The queue is flushed once behind what combines, so that the
 * device begins, and once at the end.
 */
static void check_commands(training *t)
{
    sbn_result result = SBN_RESULT_INIT;
    long most = 0;
    for (size_t r = 0; r < t->replicas; ++r)
        most += t->p->samples[r] > 0 ? 5 : 0;
    if (t->replicas == 1)
        most = 2;
    for (int is_backward = 0; is_backward < 2; ++is_backward) {
        const long launches = wraps_calls(WRAP_LAUNCH), flushes = wraps_calls(WRAP_FLUSH);
        const long markers = wraps_calls(WRAP_MARKER);
        must(is_backward ? sbn_backward(t->layer, t->shards, t->saved, t->p->flags, &result)
                         : sbn_forward(t->layer, t->shards, t->saved, 0, &result),
             "a pass");
        const long expected = most + (is_backward && t->replicas > 1 ? (long)t->replicas : 0);
        const long launched = wraps_calls(WRAP_LAUNCH) - launches;
        tap_ok(launched <= expected && wraps_calls(WRAP_MARKER) == markers &&
                   wraps_calls(WRAP_FLUSH) - flushes <= 2 * (long)t->replicas,
               "%s, %s: expected at most %ld launches, no marker and %zu flushes, got %ld, %ld and "
               "%ld",
               t->p->what, is_backward ? "backward" : "forward", expected, 2 * t->replicas,
               launched, wraps_calls(WRAP_MARKER) - markers, wraps_calls(WRAP_FLUSH) - flushes);
    }
}

static void check_calls(const problem *p, cl_command_queue queue)
{
    training t;
    sbn_saved *other;
    training_open(&t, p, queue, 0);
    must(sbn_saved_create(t.layer, &other), "sbn_saved_create");
    for (int i = 0; i < WARM_UP; ++i)
        train_ahead(&t, other);
    long before[WAITING], after[WAITING];
    const long handles = sbn__handles_open(), asked = wraps_calls(WRAP_EVENT_INFO);
    count(before);
    for (int i = 0; i < ROUNDS; ++i)
        train_ahead(&t, other);
    count(after);
    for (int i = 0; i < WAITING; ++i)
        tap_ok(after[i] == before[i], "%s: %d rounds, %ld calls of %s", p->what, ROUNDS,
               after[i] - before[i], wraps_names[waiting[i]]);
    /* Of each command that something waits for, once. */
    const long questions = wraps_calls(WRAP_EVENT_INFO) - asked;
    tap_ok(questions <= (long)(ROUNDS * 9 * 16 * t.replicas), "%s: %ld questions for states",
           p->what, questions);
    tap_ok(sbn__handles_open() == handles, "%s: %ld more handles", p->what,
           sbn__handles_open() - handles);
    check_commands(&t);
    must(clFinish(queue), "clFinish");
    must(sbn_saved_destroy(other), "sbn_saved_destroy");
    training_close(&t);
}

/* Passes whose input comes much later: they return, and their results are right in the end. */
static void check_late_input(const problem *p, cl_command_queue queue, int frees_order)
{
    training t;
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    cl_int code;
    training_open(&t, p, queue, 0);
    train(&t, 0, results);
    train(&t, 0, results);
    train(&t, 0, results);
    const uint64_t right = digest_statistics(digest_outputs(DIGEST_START, &t), &t);
    must(sbn_batchnorm_reset_running_stats(t.layer), "reset");
    for (size_t r = 0; r < t.replicas; ++r) {
        slice_reset(&t.slices[r]);
        scale(&t.slices[r], &t.slices[r].shard.x, p);
        scale(&t.slices[r], &t.slices[r].shard.dy, p);
    }
    train(&t, 0, results);
    cl_event gate = clCreateUserEvent(device.context, &code);
    must(code, "clCreateUserEvent");
    for (size_t r = 0; r < t.replicas; ++r) {
        t.shards[r].num_wait = 1;
        t.shards[r].wait_list = &gate;
    }
    const long waits = wraps_calls(WRAP_WAIT);
    train(&t, 0, results);
    /* What comes behind waits for it by the statistics, and on a queue in order anyway. */
    for (size_t r = 0; r < t.replicas; ++r)
        t.shards[r].num_wait = (cl_uint)frees_order;
    train(&t, 0, results);
    tap_ok(wraps_calls(WRAP_WAIT) == waits, "%s: two steps are enqueued before their input comes",
           p->what);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    const uint64_t digest = digest_statistics(digest_outputs(DIGEST_START, &t), &t);
    tap_ok(digest == right, "%s: and their results are right", p->what);
    must(clReleaseEvent(gate), "clReleaseEvent");
    training_close(&t);
}

/* Setting, reading and moving between passes: each sees what was enqueued before it. */
static void check_on_demand(const problem *p, cl_command_queue queue)
{
    training t[2];
    uint64_t digests[2];
    for (int on_host = 0; on_host < 2; ++on_host) {
        training *m = &t[on_host];
        sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
        float mean[MOST_CHANNELS], var[MOST_CHANNELS];
        int64_t batches;
        sbn_group *former, *other;
        sbn_group_config config = SBN_GROUP_CONFIG_INIT;
        training_open(m, p, queue, on_host);
        train(m, 0, results);
        must(sbn_batchnorm_running_stats(m->layer, mean, NULL, &batches), "running stats");
        uint64_t digest = digest_of(DIGEST_START, mean, sizeof *mean * p->channels);
        for (size_t c = 0; c < p->channels; ++c)
            var[c] = 3.0f;
        batches += 5;
        must(sbn_batchnorm_set_running_stats(m->layer, NULL, var, &batches), "set");
        train(m, 0, results);
        digest = digest_statistics(digest, m);
        /* Frozen, and released. */
        must(sbn_batchnorm_set_frozen(m->layer, 1), "frozen");
        train(m, 0, results);
        digest = digest_statistics(digest_outputs(digest, m), m);
        must(sbn_batchnorm_set_frozen(m->layer, 0), "released");
        train(m, 0, results);
        digest = digest_statistics(digest_outputs(digest, m), m);
        /* To another group and back, right behind a pass. */
        cl_command_queue all[MOST_REPLICAS];
        for (size_t r = 0; r < m->replicas; ++r)
            all[r] = queue;
        config.queues = all;
        config.replicas = m->replicas;
        must(sbn_group_create(&config, &other), "sbn_group_create");
        other->combines = !on_host;
        former = m->group;
        train(m, 0, results);
        must(sbn_batchnorm_set_group(m->layer, other), "sbn_batchnorm_set_group");
        train(m, 0, results);
        must(sbn_batchnorm_set_group(m->layer, former), "sbn_batchnorm_set_group");
        must(sbn_group_destroy(other), "sbn_group_destroy");
        train(m, 0, results);
        digests[on_host] = digest_statistics(digest_outputs(digest, m), m);
        training_close(m);
    }
    tap_ok(digests[0] == digests[1], "%s: read, set, frozen and moved between passes: the host's",
           p->what);
}

/* An OpenCL error, with these words. */
static void expect_words(int status, const char *words, const char *what)
{
    tap_ok(status < 0 && strstr(sbn_last_error(), words), "%s: %s: %s", what, sbn_strerror(status),
           sbn_last_error());
}

/*
 * A command that fails when its pass has returned: whoever waits for it is told, once. (PoCL cannot
 * pass a real failure on to commands that wait for it, and aborts.)
 */
static void check_late_errors(const problem *p, cl_command_queue queue)
{
    training t;
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    float mean[MOST_CHANNELS];
    int64_t batches = 0;
    training_open(&t, p, queue, 0);
    train(&t, 0, results);
    wraps_condemn(1);
    expect_words(sbn_batchnorm_running_stats(t.layer, mean, NULL, &batches),
                 "running statistics of layer \"batchnorm\": a forward pass has failed",
                 "running statistics are asked for");
    wraps_condemn(0);
    must(sbn_batchnorm_running_stats(t.layer, mean, NULL, &batches), "running stats");
    wraps_condemn(1);
    expect_words(sbn_saved_stats(t.saved, mean, NULL, NULL),
                 "the forward pass of layer \"batchnorm\" that fills it has failed",
                 "saved statistics are asked for");
    wraps_condemn(0);
    train(&t, 0, results);
    wraps_condemn(1);
    expect_words(sbn_forward(t.layer, t.shards, t.saved, 0, NULL),
                 "backward of layer \"batchnorm\", which had only been enqueued, has failed",
                 "the next pass");
    wraps_condemn(0);
    must(sbn_batchnorm_running_stats(t.layer, NULL, NULL, &batches), "running stats");
    tap_ok(batches == 2, "%s: which changes nothing: %lld batches", p->what, (long long)batches);
    must(sbn_batchnorm_reset_running_stats(t.layer), "reset");
    for (size_t r = 0; r < t.replicas; ++r)
        slice_reset(&t.slices[r]);
    train(&t, 0, results);
    const uint64_t again = digest_statistics(digest_outputs(DIGEST_START, &t), &t);
    training_close(&t);
    training_open(&t, p, queue, 0);
    train(&t, 0, results);
    tap_ok(digest_statistics(digest_outputs(DIGEST_START, &t), &t) == again, "%s: and passes go on",
           p->what);
    training_close(&t);
}

static void checks(void)
{
    enum { PROBLEMS = sizeof problems / sizeof *problems };
    queues[1] = fixture_queue(&device, 1);
    for (int kind = 0; kind < 2; ++kind)
        for (size_t i = 0; i < PROBLEMS; ++i)
            check_bits(&problems[i], queues[kind]);
    for (int kind = 0; kind < 2; ++kind) {
        check_calls(&problems[0], queues[kind]);
        check_calls(&problems[3], queues[kind]);
        check_calls(&problems[8], queues[kind]);
        check_late_input(&problems[3], queues[kind], 1);
        check_late_input(&problems[0], queues[kind], 0);
        check_on_demand(&problems[3], queues[kind]);
        check_on_demand(&problems[8], queues[kind]);
        check_late_errors(&problems[0], queues[kind]);
        check_late_errors(&problems[3], queues[kind]);
    }
    clReleaseCommandQueue(queues[1]);
}

int main(void)
{
    return fixture_main(&device, &queues[0], checks);
}
