/*
 * Shards in memory of the host: what is refused, and that the memory is free when a call returns, after an
 * error too. The bits of the same tensors in buffers: tests/pass/same.
 */
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/fixture.h"
#include "support/programs_kept.h"
#include "support/wraps.h"

enum { REPLICAS = 2, SAMPLES = 4, CHANNELS = 5, PLANE = 7, BUFFERS = 10 };

static fixture device;
static cl_command_queue queue;

/* One element before each keeps buffers off the begin of a page. */
static float memory_of[REPLICAS][BUFFERS][1 + SAMPLES * CHANNELS * PLANE];

static void open_shards(sbn_shard *shards)
{
    for (size_t r = 0; r < REPLICAS; ++r) {
        sbn_shard *s = &shards[r];
        sbn_buffer *const all[BUFFERS] = {&s->x,        &s->y,        &s->dy,
                                          &s->dx,       &s->residual, &s->residual_grad,
                                          &s->weight,   &s->bias,     &s->weight_grad,
                                          &s->bias_grad};
        *s = (sbn_shard)SBN_SHARD_INIT;
        s->dims = 3;
        s->shape[0] = SAMPLES - 2 * r;
        s->shape[1] = CHANNELS;
        s->shape[2] = PLANE;
        s->memory = SBN_MEMORY_HOST;
        for (size_t i = 0; i < BUFFERS; ++i)
            *all[i] = (sbn_buffer){(cl_mem)memory_of[r][i], 1};
    }
}

/* Of floats, or of bfloat16s with a residual, a mask and channels last. */
static sbn_batchnorm *layer_of(sbn_group *group, int is_masked)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.name = "first";
    config.channels = CHANNELS;
    if (is_masked) {
        config.type = SBN_BF16;
        config.layout = SBN_LAYOUT_NHWC;
        config.residual = 1;
        config.activation = SBN_RELU;
    }
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
    return made;
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queue, 2, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, 0);
    sbn_saved *saved = fixture_saved(layer);
    sbn_shard good[2], bad[2];
    open_shards(good);
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
    l.group = fixture_group(queue, 1, SBN_FORM_CPU);
    l.group->combines = l.group->combines && !host_combines;
    l.layer = layer_of(l.group, 1);
    l.saved = fixture_saved(l.layer);
    return l;
}

static void die(life *l)
{
    fixture_end(l->layer, l->saved);
    must(sbn_group_destroy(l->group), "sbn_group_destroy");
}

/* The n-th call fails; the memory is free at once. Returns how many buffers both passes map if none does. */
static long check_failures(int host_combines, int copied)
{
    life first = live(host_combines);
    sbn_shard shards[REPLICAS];
    int failed = 0, silent = 0, status = 1;
    long maps = 0;
    open_shards(shards);
    for (int n = 1; status; ++n) {
        life l = live(host_combines);
        l.group->replicas->host_memory = copied ? SBN_HOST_MEMORY_COPIED : SBN_HOST_MEMORY_UNTRIED;
        maps = wraps_calls(WRAP_MAP);
        wraps_fail(WRAP_ANY, n);
        status = sbn_forward(l.layer, shards, l.saved, 0, NULL);
        if (!status)
            status = sbn_backward(l.layer, shards, l.saved, 0, NULL);
        wraps_fail(WRAP_ANY, 0);
        failed += status != SBN_SUCCESS;
        silent += status && !sbn_last_error()[0];
        die(&l);
    }
    tap_ok(failed > 20 && !silent, "%s%s: %d calls fail, one in each pass",
           host_combines ? "the host combines" : "in one launch", copied ? ", copies" : "", failed);
    maps = wraps_calls(WRAP_MAP) - maps;
    /* A command that fails on the device is the pass's own failure, though others have followed. */
    int told = 0, n = 1, condemned = 1;
    for (; condemned; ++n) {
        life l = live(host_combines);
        wraps_condemn(n);
        status = sbn_forward(l.layer, shards, l.saved, 0, NULL);
        condemned = wraps_condemned();
        wraps_condemn(0);
        told += condemned && status == CL_OUT_OF_RESOURCES;
        die(&l);
    }
    tap_ok(told > 0 && told == n - 2, "%d of %d failed commands are told at once", told, n - 2);
    die(&first);
    return maps;
}

static void checks(void)
{
    const long before = sbn__handles_open();
    check_refused();
    for (int host_combines = 0; host_combines < 2; ++host_combines) {
        const long in_place = check_failures(host_combines, 0);
        const long fetched = check_failures(host_combines, 1) - in_place;
        tap_ok(fetched == 5, "y and four gradients are fetched where the driver copies: %ld",
               fetched);
    }
    programs_release();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
