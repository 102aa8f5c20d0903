#include "faults/stand.h"

#include "check/elements.h"
#include "support/wraps.h"

stand at;

/* The first values as bfloat16s, at the same byte of the buffer; the others stay as they are. */
static void make_narrow(const slice *s, sbn_buffer *buffer)
{
    float values[SAMPLES * CHANNELS * PLANE];
    uint16_t narrow[SAMPLES * CHANNELS * PLANE];
    buffer_read(s, buffer, s->elements, values);
    elements_pack(SBN_BF16, values, s->elements, narrow);
    must(clEnqueueWriteBuffer(s->queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof *narrow * s->elements, narrow, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

enum { SETS = 5 };
static slice *const sets[SETS] = {at.slices, at.huge, at.more[0], at.more[1], at.narrow};

int stand_open(void)
{
    wraps_build_once();
    fixture_one_thread();
    if (fixture_open(&at.device))
        return 1;
    for (size_t r = 0; r < REPLICAS; ++r) {
        at.queues[r] = fixture_queue(&at.device, r == 1);
        for (int set = 0; set < SETS; ++set)
            slice_open(&sets[set][r], &at.device, at.queues[r], SAMPLES * r, SAMPLES, CHANNELS,
                       PLANE, 4);
        make_narrow(&at.narrow[r], &at.narrow[r].shard.x);
        make_narrow(&at.narrow[r], &at.narrow[r].shard.dy);
        buffer_fill(&at.huge[r], &at.huge[r].shard.x, PLANE, 3e30f);
        buffer_fill(&at.huge[r], &at.huge[r].shard.dy, PLANE, 3e30f);
    }
    return 0;
}

void stand_close(void)
{
    for (size_t r = 0; r < REPLICAS; ++r) {
        for (int set = 0; set < SETS; ++set)
            slice_close(&sets[set][r]);
        clReleaseCommandQueue(at.queues[r]);
    }
    fixture_close(&at.device);
}

int stand_group_from(size_t first, size_t replicas, sbn_kernel_form form, const char *folder,
                     sbn_group **group)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = at.queues + first;
    config.replicas = replicas;
    config.form = form;
    config.program_cache = folder;
    return sbn_group_create(&config, group);
}

int stand_group(size_t replicas, const char *folder, sbn_group **group)
{
    return stand_group_from(0, replicas, SBN_FORM_AUTO, folder, group);
}

int stand_layer_of(sbn_group *group, const char *name, sbn_type type, sbn_batchnorm **layer)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = name;
    config.channels = CHANNELS;
    config.momentum = 0.25;
    config.type = type;
    return sbn_batchnorm_create(group, &config, layer);
}

int stand_layer(sbn_group *group, const char *name, sbn_batchnorm **layer)
{
    return stand_layer_of(group, name, SBN_F32, layer);
}

void stand_finish(void)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        must(clFinish(at.queues[r]), "clFinish");
}

void stand_reset(size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        slice_reset(&at.slices[r]);
}

void stand_release(cl_event events[REPLICAS])
{
    for (size_t r = 0; r < REPLICAS; ++r) {
        if (events[r])
            clReleaseEvent(events[r]);
        events[r] = NULL;
    }
}

uint64_t stand_outputs(uint64_t digest, size_t replicas)
{
    return stand_outputs_of(digest, at.slices, replicas);
}

uint64_t stand_outputs_of(uint64_t digest, const slice *slices, size_t replicas)
{
    stand_finish();
    for (size_t r = 0; r < replicas; ++r) {
        const slice *s = &slices[r];
        digest = digest_buffer(digest, s, &s->shard.y, s->elements);
        digest = digest_buffer(digest, s, &s->shard.dx, s->elements);
        digest = digest_buffer(digest, s, &s->shard.weight_grad, s->channels);
        digest = digest_buffer(digest, s, &s->shard.bias_grad, s->channels);
    }
    return digest;
}

uint64_t stand_running(uint64_t digest, const sbn_batchnorm *layer)
{
    return layer ? digest_layer(digest, layer, NULL) : digest;
}

int stand_usable(const sbn_group *group)
{
    return !group || sbn_group_status(group, NULL) == SBN_SUCCESS;
}
