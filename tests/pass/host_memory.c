/*
 * Shards in memory of the host: the bits of the same tensors in buffers, of every pass, kind of group
 * and layer; what is refused; that outputs are complete and the memory is free when a call returns,
 * after an error too.
 */
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/wraps.h"

enum { REPLICAS = 3, CHANNELS = 5, PLANE = 7, MOST = 4, TENSORS = 6, VECTORS = 4, PASSES = 5 };
enum { ELEMENTS = MOST * CHANNELS * PLANE };

static fixture device;
static cl_command_queue queues[2]; /* in order, and not */

/* A replica's values; one before each array keeps tensors off the begin of a page. */
typedef struct values {
    float tensors[TENSORS][ELEMENTS + 1], vectors[VECTORS][CHANNELS + 1];
} values;

static values memory_of[REPLICAS];

/* x, residual, dy are inputs, as are weight and bias. */
static void fill(sbn_type type)
{
    memset(memory_of, 0x7e, sizeof memory_of);
    for (size_t r = 0; r < REPLICAS; ++r) {
        for (size_t t = 0; t < 3; ++t)
            for (size_t i = 0; i < ELEMENTS; ++i) {
                /* One channel does not fit the narrow format. */
                const float scale = type == SBN_F32 && i / PLANE % CHANNELS == 2 ? 0x1p90f : 1.0f;
                const float value = (batch_x(5 + (unsigned)t, r, i / PLANE % CHANNELS, i) - 2.0f) *
                                    scale;
                uint32_t bits;
                memcpy(&bits, &value, sizeof bits);
                if (type == SBN_F32)
                    memory_of[r].tensors[t][i + 1] = value;
                else /* halves of these bits are finite, too */
                    ((uint16_t *)memory_of[r].tensors[t])[i + 1] = (uint16_t)(bits >> 16);
            }
        for (size_t v = 0; v < 2; ++v)
            for (size_t c = 0; c < CHANNELS; ++c)
                memory_of[r].vectors[v][c + 1] = 0.5f + (float)(c + v) * 0.25f;
    }
}

static sbn_buffer *tensor_of(sbn_shard *s, size_t t)
{
    sbn_buffer *const all[TENSORS] = {&s->x, &s->residual, &s->dy,
                                      &s->y, &s->dx,       &s->residual_grad};
    return all[t];
}

static sbn_buffer *vector_of(sbn_shard *s, size_t v)
{
    sbn_buffer *const all[VECTORS] = {&s->weight, &s->bias, &s->weight_grad, &s->bias_grad};
    return all[v];
}

static sbn_buffer in_host(void *begin)
{
    return (sbn_buffer){(cl_mem)begin, 1};
}

static sbn_buffer in_buffer(void *begin, size_t bytes)
{
    cl_int code;
    const cl_mem made = clCreateBuffer(device.context, CL_MEM_COPY_HOST_PTR, bytes, begin, &code);
    must(code, "clCreateBuffer");
    return (sbn_buffer){made, 1};
}

/* Shards of 4, 0 and 2 samples. */
static void open_shards(sbn_shard *shards, size_t replicas, sbn_memory memory, int in_place)
{
    for (size_t r = 0; r < replicas; ++r) {
        sbn_shard *s = &shards[r];
        values *v = &memory_of[r];
        *s = (sbn_shard)SBN_SHARD_INIT;
        s->dims = 3;
        s->shape[0] = r == 1 ? 0 : MOST - r;
        s->shape[1] = CHANNELS;
        s->shape[2] = PLANE;
        s->memory = memory;
        for (size_t t = 0; t < TENSORS - 2u * (size_t)in_place; ++t)
            *tensor_of(s, t) = memory ? in_host(v->tensors[t])
                                      : in_buffer(v->tensors[t], sizeof v->tensors[t]);
        for (size_t c = 0; c < VECTORS; ++c)
            *vector_of(s, c) = memory ? in_host(v->vectors[c])
                                      : in_buffer(v->vectors[c], sizeof v->vectors[c]);
        if (in_place)
            s->dx = s->dy;
    }
}

/* Adds up what was written, without waiting for anything in memory of the host; ends the shards. */
static uint64_t digest(sbn_shard *shards, size_t replicas, cl_command_queue queue)
{
    uint64_t sum = DIGEST_START;
    for (size_t r = 0; r < replicas; ++r) {
        sbn_shard *s = &shards[r];
        values *v = &memory_of[r];
        for (size_t t = 0; !s->memory && t < TENSORS; ++t)
            if (tensor_of(s, t)->mem && !(t == 4 && s->dx.mem == s->dy.mem))
                must(clEnqueueReadBuffer(queue, tensor_of(s, t)->mem, CL_TRUE, 0,
                                         sizeof v->tensors[t], v->tensors[t], 0, NULL, NULL),
                     "clEnqueueReadBuffer");
        for (size_t c = 0; !s->memory && c < VECTORS; ++c)
            must(clEnqueueReadBuffer(queue, vector_of(s, c)->mem, CL_TRUE, 0, sizeof v->vectors[c],
                                     v->vectors[c], 0, NULL, NULL),
                 "clEnqueueReadBuffer");
        sum = digest_of(sum, v, sizeof *v);
    }
    return sum;
}

/* Which queue of a group, its replicas, form and who combines; NULL ends the list. */
typedef struct kind {
    const char *name;
    size_t replicas;
    int out_of_order, on_host;
    sbn_kernel_form form;
} kind;

static const kind kinds[] = {
    {"one launch", 1, 0, 0, SBN_FORM_CPU},
    {"devices combine", REPLICAS, 0, 0, SBN_FORM_CPU},
    {"devices combine, out of order", REPLICAS, 1, 0, SBN_FORM_CPU},
    {"the host combines", REPLICAS, 0, 1, SBN_FORM_CPU},
    {"the GPU form", 2, 0, 0, SBN_FORM_GPU},
};

typedef struct setting {
    const char *name;
    sbn_type type;
    sbn_layout layout;
    int affine, residual, from_output, in_place;
    sbn_activation activation;
} setting;

static const setting settings[] = {
    {"f32", SBN_F32, SBN_LAYOUT_NCHW, 1, 0, 0, 0, SBN_IDENTITY},
    {"bf16, channels last, residual and relu", SBN_BF16, SBN_LAYOUT_NHWC, 1, 1, 0, 0, SBN_RELU},
    {"f32, no affine part, leaky, dx over dy", SBN_F32, SBN_LAYOUT_NCHW, 0, 0, 0, 1,
     SBN_LEAKY_RELU},
    {"f32, from output", SBN_F32, SBN_LAYOUT_NHWC, 1, 0, 1, 0, SBN_LEAKY_RELU},
};

static sbn_batchnorm *layer_of(sbn_group *group, const setting *s)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.name = "first";
    config.channels = CHANNELS;
    config.type = s->type;
    config.layout = s->layout;
    config.affine = s->affine;
    config.residual = s->residual;
    config.activation = s->activation;
    config.from_output = s->from_output;
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
    return made;
}

static uint64_t run(sbn_group *group, const kind *k, const setting *s, sbn_memory memory, int pass)
{
    sbn_shard shards[REPLICAS];
    sbn_batchnorm *layer = layer_of(group, s);
    sbn_saved *saved = fixture_saved(layer);
    const cl_command_queue queue = queues[k->out_of_order];
    cl_event event = NULL;
    fill(s->type);
    open_shards(shards, k->replicas, memory, s->in_place);
    shards[0].event = &event;
    const int backward = pass == 1 || pass == 4;
    if (pass == 4)
        must(sbn_batchnorm_set_frozen(layer, 1), "sbn_batchnorm_set_frozen");
    int status = pass == 2 ? sbn_evaluate(layer, shards)
                           : sbn_forward(layer, shards, saved, 0, NULL);
    if (!status && event)
        must(clReleaseEvent(event), "clReleaseEvent");
    event = NULL;
    if (!status && pass == 3) {
        for (size_t r = 0; r < k->replicas; ++r) {
            if (!memory)
                must(clFinish(queue), "clFinish");
            memset(memory_of[r].tensors[3], 0x7e, sizeof memory_of[r].tensors[3]);
        }
        status = sbn_recompute(layer, shards, saved);
    }
    if (!status && backward)
        status = sbn_backward(layer, shards, saved, SBN_GLOBAL_GRADIENTS, NULL);
    must(status, "a pass");
    if (event && memory) {
        cl_int state = 1;
        must(clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
             "clGetEventInfo");
        must(state == CL_COMPLETE ? CL_SUCCESS : SBN_TIMEOUT,
             "the event is that of a complete one");
    }
    if (event)
        must(clReleaseEvent(event), "clReleaseEvent");
    if (!memory)
        must(clFinish(queue), "clFinish");
    uint64_t sum = digest(shards, k->replicas, queue);
    float running[2][CHANNELS];
    int64_t batches;
    must(sbn_batchnorm_running_stats(layer, running[0], running[1], &batches), "get");
    sum = digest_of(digest_of(sum, running, sizeof running), &batches, sizeof batches);
    for (size_t r = 0; !memory && r < k->replicas; ++r) {
        for (size_t t = 0; t < TENSORS; ++t)
            if (tensor_of(&shards[r], t)->mem && !(s->in_place && t == 4))
                must(clReleaseMemObject(tensor_of(&shards[r], t)->mem), "clReleaseMemObject");
        for (size_t c = 0; c < VECTORS; ++c)
            must(clReleaseMemObject(vector_of(&shards[r], c)->mem), "clReleaseMemObject");
    }
    fixture_end(layer, saved);
    return sum;
}

static void check_bits(const kind *k, const setting *s, int copied)
{
    sbn_group *group = fixture_group(queues[k->out_of_order], k->replicas, k->form);
    int differ = 0;
    group->combines = group->combines && !k->on_host;
    for (size_t r = 0; copied && r < k->replicas; ++r)
        group->replicas[r].host_memory = SBN_HOST_MEMORY_COPIED;
    for (int pass = 0; pass < PASSES; ++pass)
        differ += run(group, k, s, SBN_MEMORY_DEVICE, pass) !=
                  run(group, k, s, SBN_MEMORY_HOST, pass);
    tap_ok(!differ, "%s, %s%s: %d of %d passes differ from those of buffers", k->name, s->name,
           copied ? ", as of a driver that copies" : "", differ, PASSES);
    sbn_group_destroy(group);
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queues[0], 2, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, &settings[0]);
    sbn_saved *saved = fixture_saved(layer);
    sbn_shard good[2], bad[2];
    fill(SBN_F32);
    open_shards(good, 2, SBN_MEMORY_HOST, 0);
    good[1].shape[0] = 2;
#define REFUSED(words, what) \
    expect(sbn_forward(layer, bad, saved, 0, NULL), SBN_INVALID_ARGUMENT, words, what)
    memcpy(bad, good, sizeof good);
    bad[1].memory = (sbn_memory)2;
    REFUSED("forward of layer \"first\", rank 0, replica 1: memory: expected an sbn_memory, got 2",
            "another memory");
    memcpy(bad, good, sizeof good);
    bad[0].x.mem = NULL;
    REFUSED("replica 0: x: expected a buffer, got NULL", "no address");
    memcpy(bad, good, sizeof good);
    bad[0].y.mem = (cl_mem)((char *)bad[0].y.mem + 2);
    REFUSED("replica 0: y: expected an address that is a multiple of 4, got 0x", "a wrong address");
    memcpy(bad, good, sizeof good);
    bad[0].y = (sbn_buffer)SBN_HOST_BUFFER((float *)(void *)bad[0].x.mem + 3);
    REFUSED("replica 0: y is written and must not overlap x", "y over a part of x");
    memcpy(bad, good, sizeof good);
    bad[1].y = (sbn_buffer)SBN_HOST_BUFFER((float *)(void *)bad[0].x.mem + 3);
    REFUSED("replica 1: y must not overlap x of replica 0", "y over another replica's x");
    memcpy(bad, good, sizeof good);
    bad[1].bias = bad[0].bias;
    bad[1].weight = bad[0].bias;
    expect(sbn_forward(layer, bad, saved, 0, NULL), SBN_SUCCESS, "", "inputs may be shared");
    group->replicas[0].host_memory = group->replicas[1].host_memory = SBN_HOST_MEMORY_COPIED;
    memcpy(bad, good, sizeof good);
    bad[0].shape[0] = 2;
    bad[0].y_pitch = CHANNELS * PLANE + 1;
    REFUSED("replica 0: y: expected a dense tensor in memory of the host, of which this device's "
            "driver keeps a copy, got a view",
            "a view where the driver copies");
    fixture_end(layer, saved);
    sbn_group_destroy(group);
}

/* --- failures ---------------------------------------------------------------------------- */

/* A group fails with its device: each pass has another, of the same programs. */
typedef struct life {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
} life;

static life live(int host_combines)
{
    life l;
    l.group = fixture_group(queues[0], 1, SBN_FORM_CPU);
    l.group->combines = l.group->combines && !host_combines;
    l.layer = layer_of(l.group, &settings[1]);
    l.saved = fixture_saved(l.layer);
    return l;
}

static void die(life *l)
{
    fixture_end(l->layer, l->saved);
    must(sbn_group_destroy(l->group), "sbn_group_destroy");
}

/* The n-th call fails; the memory is free at once. */
static void check_failures(int host_combines, int copied)
{
    life first = live(host_combines);
    sbn_shard shard;
    int failed = 0, silent = 0, status = 1;
    fill(SBN_BF16);
    open_shards(&shard, 1, SBN_MEMORY_HOST, 0);
    for (int n = 1; status; ++n) {
        life l = live(host_combines);
        l.group->replicas->host_memory = copied ? SBN_HOST_MEMORY_COPIED : SBN_HOST_MEMORY_UNTRIED;
        wraps_fail(WRAP_ANY, n);
        status = sbn_forward(l.layer, &shard, l.saved, 0, NULL);
        if (!status)
            status = sbn_backward(l.layer, &shard, l.saved, 0, NULL);
        wraps_fail(WRAP_ANY, 0);
        failed += status != SBN_SUCCESS;
        silent += status && !sbn_last_error()[0];
        die(&l);
    }
    tap_ok(failed > 20 && !silent, "%s%s: %d calls fail, one in each pass",
           host_combines ? "the host combines" : "in one launch", copied ? ", copies" : "", failed);
    /* A command that fails on the device is the pass's own failure, though others have followed. */
    int told = 0, n = 1, condemned = 1;
    for (; condemned; ++n) {
        life l = live(host_combines);
        wraps_condemn(n);
        status = sbn_forward(l.layer, &shard, l.saved, 0, NULL);
        condemned = wraps_condemned();
        wraps_condemn(0);
        told += condemned && status == CL_OUT_OF_RESOURCES;
        die(&l);
    }
    tap_ok(told > 0 && told == n - 2, "%d of %d failed commands are told at once", told, n - 2);
    die(&first);
}

static void checks(void)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k)
        for (size_t s = 0; s < sizeof settings / sizeof *settings; ++s)
            check_bits(&kinds[k], &settings[s], 0);
    check_bits(&kinds[0], &settings[1], 1);
    check_bits(&kinds[3], &settings[2], 1);
    check_refused();
    for (int i = 0; i < 2; ++i)
        check_failures(i, i);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    queues[0] = fixture_queue(&device, 0);
    queues[1] = fixture_queue(&device, 1);
    const long before = sbn__handles_open();
    checks();
    programs_release();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
    clReleaseCommandQueue(queues[0]);
    clReleaseCommandQueue(queues[1]);
    fixture_close(&device);
    return tap_done();
}
