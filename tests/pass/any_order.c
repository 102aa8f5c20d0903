/*
 * Random calls, one behind the other and never waited for, on queues in order, out of order and both; by
 * events where a queue keeps no order, and elsewhere, too, where another queue writes the input. Prints
 * digests, which no order of commands may change: tests/pass/any_order.sh. An argument gives the number of
 * sequences, each of which has the same digest where the host combines.
 */
#include <stdlib.h>

#include "check/mix.h"
#include "group/group.h"
#include "support/main.h"

enum { REPLICAS = 3, CHANNELS = 5, LAYERS = 2, SAVED = 2, BATCHES = 4, STEPS = 30, SEQUENCES = 64 };

static uint64_t state;
static size_t replicas;
static sbn_group *groups[2]; /* the first layer moves between them */
static sbn_data_parallel *parallel;
static sbn_model *model; /* of the second layer, whose weight and bias all replicas share */
static sbn_batchnorm *layers[LAYERS];
static cl_command_queue queues[REPLICAS], producer; /* in order */
static int by_events[REPLICAS], by_host;
static slice slices[BATCHES][REPLICAS];
static sbn_buffer running[2][REPLICAS]; /* of the second layer */

/* A chain of commands: what the next one on the same buffers waits for. */
static cl_event of_batch[BATCHES][REPLICAS], of_running[REPLICAS];

typedef struct kept {
    sbn_saved *saved;
    size_t batch; /* BATCHES: it is not filled */
} kept;

static kept saved[LAYERS][SAVED];

/* A pass, perhaps under way. */
typedef struct call {
    sbn_pass *pass;
    size_t layer, batch;
    kept *on;
    sbn_shard shards[REPLICAS];
    cl_event waits[REPLICAS][2], events[REPLICAS];
} call;

static call under_way;
static size_t latest; /* batch of a call */

static size_t below(size_t n)
{
    return (size_t)((state = mix(state, 1)) >> 20) % n;
}

static void follow(cl_event *last, cl_event event)
{
    must(clRetainEvent(event), "clRetainEvent");
    events_release(last, 1);
    *last = event;
}

static void prepare(call *c, size_t layer, size_t batch, kept *on)
{
    *c = (call){.layer = layer, .batch = batch, .on = on};
    latest = batch;
    for (size_t r = 0; r < replicas; ++r) {
        sbn_shard *shard = &c->shards[r];
        *shard = slices[batch][r].shard;
        shard->running_mean = layer && r < 2 ? running[0][r] : (sbn_buffer)SBN_BUFFER_INIT;
        shard->running_var = layer && r < 2 ? running[1][r] : (sbn_buffer)SBN_BUFFER_INIT;
        shard->weight = slices[layer ? 0 : batch][layer ? 0 : r].shard.weight;
        shard->bias = slices[layer ? 0 : batch][layer ? 0 : r].shard.bias;
        if (layer)
            shard->residual = shard->dy;
        if (!by_events[r])
            continue;
        shard->event = &c->events[r];
        shard->wait_list = c->waits[r];
        if (of_batch[batch][r])
            c->waits[r][shard->num_wait++] = of_batch[batch][r];
        if (layer && of_running[r])
            c->waits[r][shard->num_wait++] = of_running[r];
    }
}

static void settle(call *c)
{
    for (size_t r = 0; r < replicas; ++r)
        if (by_events[r]) {
            follow(&of_batch[c->batch][r], c->events[r]);
            if (c->layer)
                follow(&of_running[r], c->events[r]);
            events_release(&c->events[r], 1);
        }
}

static void end(void)
{
    if (!under_way.pass)
        return;
    for (int ready = below(2) != 0; !ready;)
        must(sbn_pass_progress(under_way.pass, &ready), "sbn_pass_progress");
    must(sbn_pass_end(under_way.pass, NULL), "sbn_pass_end");
    under_way.pass = NULL;
    settle(&under_way);
}

static void pass(size_t op, size_t layer, size_t batch, kept *on)
{
    const unsigned keep = below(4) ? 0 : SBN_KEEP_RUNNING_STATS;
    const unsigned gradients = (unsigned)below(4) * SBN_ACCUMULATE_GRADIENTS;
    const unsigned flags = op == BACKWARD ? gradients : keep;
    if ((op == BACKWARD || op == RECOMPUTE) && on->batch == BATCHES)
        return;
    if (op == BACKWARD || op == RECOMPUTE)
        batch = on->batch;
    else if (op != EVALUATE)
        on->batch = batch;
    else if (under_way.layer == layer)
        end(); /* When it updates the running statistics is not said. */
    const int begins = op != EVALUATE && op != RECOMPUTE && !under_way.pass && below(3) == 0;
    call own, *c = begins ? &under_way : &own;
    prepare(c, layer, batch, on);
    if (begins) {
        must((op == BACKWARD ? sbn_backward_begin : sbn_forward_begin)(layers[layer], c->shards,
                                                                       on->saved, flags, &c->pass),
             "begin");
        return;
    }
    if (op == BACKWARD && below(3) == 0) {
        sbn_shard *shard = &c->shards[below(replicas)];
        shard->dx.mem = shard->weight_grad.mem = shard->bias_grad.mem = NULL;
    }
    must(fixture_pass(op < OPERATIONS ? (operation)op : FORWARD, layers[layer], c->shards,
                      on->saved, flags, NULL),
         "a pass");
    settle(c);
}

static void fold(size_t batch)
{
    sbn_folding foldings[REPLICAS];
    call c;
    if (under_way.layer == 0)
        end();
    prepare(&c, 0, batch, NULL);
    for (size_t r = 0; r < replicas; ++r)
        foldings[r] = FOLDING_OF(&c.shards[r]);
    must(sbn_batchnorm_fold(layers[0], foldings), "sbn_batchnorm_fold");
    settle(&c);
}

static void exchange(size_t batch)
{
    const size_t counts[] = {CHANNELS, CHANNELS}, root = below(replicas);
    sbn_tensors tensors[REPLICAS];
    sbn_buffer buffers[REPLICAS][2];
    sbn_exchange *begun;
    call c;
    prepare(&c, 0, batch, NULL);
    for (size_t r = 0; r < replicas; ++r) {
        buffers[r][0] = c.shards[r].weight_grad;
        buffers[r][1] = c.shards[r].bias_grad;
        tensors[r] = (sbn_tensors){sizeof *tensors, buffers[r], c.shards[r].num_wait,
                                   c.shards[r].wait_list, c.shards[r].event};
    }
    must(below(2) ? sbn_average_gradients_begin(parallel, counts, 2, tensors, &begun)
                  : sbn_broadcast_begin(parallel, counts, 2, root, tensors, &begun),
         "an exchange");
    if (below(2))
        must(sbn_exchange_progress(begun, NULL), "sbn_exchange_progress");
    if (!under_way.pass)
        pass(EVALUATE, 0, (batch + 1) % BATCHES, &saved[0][0]);
    must(sbn_exchange_end(begun), "sbn_exchange_end");
    settle(&c);
}

/* Another value of the input or of the gradients, behind all that reads it. */
static void produce(size_t batch)
{
    const int of_input = below(2) == 0;
    for (size_t r = 0; r < replicas; ++r) {
        const sbn_shard *its = &slices[batch][r].shard;
        const sbn_buffer *to = of_input ? &its->x : &its->weight_grad;
        const cl_command_queue on = by_events[r] ? producer : queues[r];
        const float value = (float)below(9);
        cl_event *last = &of_batch[batch][r], written;
        if (slices[batch][r].samples == 0)
            continue;
        must(clEnqueueFillBuffer(on, to->mem, &value, sizeof value, sizeof value * (to->offset + 1),
                                 sizeof value, *last != NULL, *last ? last : NULL, &written),
             "clEnqueueFillBuffer");
        must(clFlush(on), "clFlush");
        if (by_events[r])
            follow(last, written);
        events_release(&written, 1);
    }
    if (below(2))
        must(clFinish(producer), "clFinish");
}

/* What is saved goes to another place of the layer or to its own, and is used; or it is made anew. */
static void move(size_t layer, const kept *from, kept *to)
{
    static char bytes[8192];
    size_t size;
    if (from->batch == BATCHES || below(3) == 0) {
        must(sbn_saved_destroy(to->saved), "sbn_saved_destroy");
        *to = (kept){fixture_saved(layers[layer]), BATCHES};
        return;
    }
    must(sbn_saved_store(from->saved, bytes, sizeof bytes, &size), "sbn_saved_store");
    must(sbn_saved_load(to->saved, bytes, size), "sbn_saved_load");
    to->batch = from->batch;
    pass(BACKWARD, layer, to->batch, to);
}

/* Other weights, which reads and writes of passes before do not see. */
static uint64_t train(uint64_t digest)
{
    float weight[CHANNELS], bias[CHANNELS];
    must(sbn_model_parameters(model, 0, weight, bias), "sbn_model_parameters");
    digest = sbn__digest(digest, weight, sizeof weight);
    for (int c = 0; c < CHANNELS; ++c)
        weight[c] = bias[c] = (float)below(9) - 4.5f;
    must(sbn_model_set_parameters(model, 0, weight, bias), "sbn_model_set_parameters");
    return digest;
}

static void step(uint64_t *digest)
{
    const size_t layer = below(LAYERS), batch = below(BATCHES);
    kept *on = &saved[layer][below(SAVED)];
    const size_t what = below(17);
    float mean[CHANNELS];
    /* Of what a pass under way uses, nothing is touched; nor of the second layer, whose events are to come. */
    if (under_way.pass && (what < 6 || layer + under_way.layer == 2 || under_way.batch == batch ||
                           under_way.batch == on->batch))
        end();
    switch (what) {
    case 0:
        *digest = digest_layer(*digest, layers[layer], on->batch < BATCHES ? on->saved : NULL);
        break;
    case 1:
        must(sbn_batchnorm_set_frozen(layers[layer], below(3) == 0), "sbn_batchnorm_set_frozen");
        break;
    case 2: move(layer, on, &saved[layer][below(SAVED)]); break;
    case 3: *digest = train(*digest); break;
    case 4:
        must(sbn_batchnorm_set_group(layers[0], groups[below(2)]), "sbn_batchnorm_set_group");
        for (size_t k = 0; k < SAVED; ++k)
            saved[0][k].batch = BATCHES; /* What is saved does not go with the layer. */
        break;
    case 5: /* What evaluations before do not see. */
        for (int c = 0; c < CHANNELS; ++c)
            mean[c] = (float)below(9);
        must(sbn_batchnorm_set_running_stats(layers[layer], mean, NULL, NULL), "set");
        break;
    case 6: fold(batch); break;
    case 7: exchange(batch); break;
    case 8: produce(under_way.pass ? batch : latest); break;
    default:
        pass(below(5), layer, batch, on);
        /* Beside one under way another one of the same layer. */
        on = &saved[0][on == &saved[0][0]];
        if (under_way.pass && under_way.layer == 0 && on->batch != under_way.batch)
            pass(below(5), 0, (under_way.batch + 1) % BATCHES, on);
    }
}

static void open(size_t plane)
{
    const int shared = below(4) == 0;
    const sbn_kernel_form form = below(2) ? SBN_FORM_GPU : SBN_FORM_CPU;
    const float huge = 1e12f, one[CHANNELS] = {1, 1, 1, 1, 1};
    replicas = 1 + below(REPLICAS);
    for (size_t r = 0; r < replicas; ++r) {
        const int unordered = below(2) == 0;
        by_events[r] = shared && r ? by_events[0] : unordered || below(2);
        queues[r] = shared && r ? queues[0] : fixture_queue(&device, unordered);
    }
    for (int i = 0; i < 2; ++i) {
        groups[i] = GROUP_WITH(queues, .replicas = replicas, .form = form);
        groups[i]->combines = groups[i]->combines && below(4) > 0 && !by_host;
    }
    must(sbn_data_parallel_create(groups[0], NULL, &parallel), "sbn_data_parallel_create");
    for (size_t l = 0; l < LAYERS; ++l) {
        layers[l] = LAYER_WITH(groups[0], .channels = CHANNELS,
                               .activation = l ? SBN_RELU : SBN_IDENTITY, .residual = (int)l,
                               .average = l ? SBN_AVERAGE_CUMULATIVE : SBN_AVERAGE_MOMENTUM);
        for (size_t k = 0; k < SAVED; ++k)
            saved[l][k] = (kept){fixture_saved(layers[l]), BATCHES};
    }
    sbn_parameters all[REPLICAS];
    for (size_t r = 0; r < replicas; ++r) {
        for (int i = 0; i < 2; ++i)
            running[i][r] = buffer_of(&device, queues[r], one, CHANNELS);
        for (size_t b = 0; b < BATCHES; ++b)
            slice_open(&slices[b][r], &device, queues[r], r * 2, r ? below(3) : 2, CHANNELS, plane,
                       (unsigned)b);
        all[r] = (sbn_parameters){sizeof *all, slices[0][0].shard.weight, slices[0][0].shard.bias};
    }
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, "", layers[1], all), "sbn_model_add");
    /* Of one batch the sums are wide. */
    buffer_write(&slices[0][0], &slices[0][0].shard.x, 1, &huge);
}

static void shut(int shared)
{
    for (size_t r = 0; r < replicas; ++r) {
        events_release(&of_running[r], 1);
        for (int i = 0; i < 2; ++i)
            clReleaseMemObject(running[i][r].mem);
        for (size_t b = 0; b < BATCHES; ++b) {
            events_release(&of_batch[b][r], 1);
            slice_close(&slices[b][r]);
        }
    }
    sbn_model_destroy(model);
    for (size_t l = 0; l < LAYERS; ++l) {
        sbn_saved_destroy(saved[l][1].saved);
        fixture_end(layers[l], saved[l][0].saved);
    }
    sbn_data_parallel_destroy(parallel);
    for (int i = 0; i < 2; ++i)
        sbn_group_destroy(groups[i]);
    for (size_t r = 0; r < replicas && (r == 0 || !shared); ++r)
        clReleaseCommandQueue(queues[r]);
}

static uint64_t run(uint64_t seed)
{
    uint64_t digest = SBN_DIGEST_START;
    state = mix(seed, 0);
    latest = 0;
    open(below(2) ? 300 : 7);
    for (int i = 0; i < STEPS; ++i)
        step(&digest);
    end();
    must(clFinish(producer), "clFinish");
    for (size_t r = 0; r < replicas; ++r)
        must(clFinish(queues[r]), "clFinish");
    for (size_t b = 0; b < BATCHES; ++b)
        digest = digest_slices(digest, slices[b], replicas);
    for (size_t r = 0; r < replicas; ++r)
        for (int i = 0; i < 2; ++i)
            digest = digest_buffer(digest, &slices[0][r], &running[i][r], CHANNELS);
    for (size_t l = 0; l < LAYERS; ++l)
        digest = digest_layer(digest, layers[l], NULL);
    shut(replicas > 1 && queues[1] == queues[0]);
    return digest;
}

void checks(void)
{
    const int count = main_arguments[1] ? atoi(main_arguments[1]) : SEQUENCES;
    producer = fixture_queue(&device, 0);
    int differ = 0;
    for (int i = 0; i < count; ++i) {
        const uint64_t digest = run((uint64_t)i);
        tap_note("sequence %d: %016llx", i, (unsigned long long)digest);
        by_host = 1;
        differ += run((uint64_t)i) != digest;
        by_host = 0;
    }
    tap_ok(!differ, "%d of %d sequences have other digests where the host combines", differ, count);
    clReleaseCommandQueue(producer);
}
