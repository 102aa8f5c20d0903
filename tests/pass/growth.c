/*
 * Programs compiled against an older and against a newer version of the structs do the same work as
 * one of this version, on the shared library: with the same results, nothing written beyond their
 * structs, and later fields refused if they are used. The last part tests which sizes are accepted.
 */
#include "pass/growth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"

enum { FLOATS = GROWTH_SAMPLES * GROWTH_CHANNELS * GROWTH_PLANE, VECTORS = 4 * GROWTH_CHANNELS };

static fixture device;
static cl_command_queue queue;

static cl_mem make(size_t floats, const float *values)
{
    cl_int code;
    cl_mem made = clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof(float) * floats, NULL,
                                 &code);
    must(code, "clCreateBuffer");
    must(clEnqueueWriteBuffer(queue, made, CL_TRUE, 0, sizeof(float) * floats, values, 0, NULL,
                              NULL),
         "clEnqueueWriteBuffer");
    return made;
}

static uint64_t add(uint64_t digest, cl_mem mem, size_t floats)
{
    float values[FLOATS];
    must(clEnqueueReadBuffer(queue, mem, CL_TRUE, 0, sizeof(float) * floats, values, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    return digest_of(digest, values, sizeof(float) * floats);
}

/*
 * The program's results on the device, from tensors as it finds them; without what folding wrote.
 */
static uint64_t run(void (*program)(const growth_setup *, growth_outcome *), const char *checkpoint,
                    growth_outcome *outcome)
{
    float values[FLOATS], nothing[FLOATS];
    growth_setup setup = {.queue = queue, .checkpoint = checkpoint};
    cl_mem all[3 * GROWTH_REPLICAS + 2];
    size_t count = 0;
    for (size_t i = 0; i < FLOATS; ++i)
        nothing[i] = PATTERN;
    for (size_t r = 0; r < GROWTH_REPLICAS; ++r) {
        for (size_t i = 0; i < FLOATS; ++i)
            values[i] = batch_x(3, r, i % 7, i);
        setup.x[r] = all[count++] = make(FLOATS, values);
        setup.y[r] = all[count++] = make(FLOATS, nothing);
        setup.dx[r] = all[count++] = make(FLOATS, nothing);
    }
    setup.parameters = all[count++] = make(2 * GROWTH_CHANNELS, values);
    setup.gradients = all[count++] = make(VECTORS, nothing);
    program(&setup, outcome);
    uint64_t digest = add(DIGEST_START, setup.gradients, VECTORS);
    for (size_t r = 0; r < GROWTH_REPLICAS; ++r)
        digest = add(digest, setup.y[r], FLOATS);
    for (size_t i = 0; i < count; ++i)
        clReleaseMemObject(all[i]);
    return digest;
}

static uint64_t check_program(void (*program)(const growth_setup *, growth_outcome *),
                              const char *checkpoint, const char *what)
{
    static const uint64_t samples[] = {7, 9, 11, 13}; /* the odd ones, from the fourth on */
    growth_outcome o;
    const uint64_t digest = run(program, checkpoint, &o);
    tap_ok(!o.failed, "%s: all calls succeed: %s %s", what, o.failed ? o.failed : "", o.sentence);
    tap_ok(o.count == 2 * GROWTH_SAMPLES * GROWTH_PLANE && o.branch_count == 2 * GROWTH_PLANE,
           "%s: counts of %d and %d, expected %d and %d", what, (int)o.count, (int)o.branch_count,
           2 * GROWTH_SAMPLES * GROWTH_PLANE, 2 * GROWTH_PLANE);
    tap_ok(memcmp(o.samples, samples, sizeof samples) == 0, "%s: its samples in their order", what);
    tap_ok(o.channels == 4, "%s: a checkpoint's layer of %zu channels, expected 4", what,
           o.channels);
    tap_ok(!o.overwritten, "%s: structs are filled up to their size, and no further", what);
    if (program == growth_newer)
        tap_ok(o.refused == 11 && o.used == 11,
               "%s: %d of %d later fields in use are refused, expected 11 of 11", what, o.refused,
               o.used);
    return digest;
}

/* Which sizes are accepted, and what _init does with them. */
static void check_sizes(void)
{
    sbn_batchnorm_config filled, defaults = SBN_BATCHNORM_CONFIG_INIT;
    memset(&filled, 0xa5, sizeof filled);
    expect(sbn_batchnorm_config_init(NULL, sizeof filled), SBN_INVALID_ARGUMENT,
           "config|sbn_batchnorm_config|got NULL", "init: NULL");
    const size_t impossible[] = {0, 8, 9, 71, 4104};
    for (size_t i = 0; i < sizeof impossible / sizeof *impossible; ++i)
        expect(sbn_batchnorm_config_init(&filled, impossible[i]), SBN_INVALID_ARGUMENT,
               "size: expected sizeof(sbn_batchnorm_config)", "init: a size that no struct has");
    expect(sbn_batchnorm_config_init(&filled, sizeof filled), SBN_SUCCESS, "", "init");
    tap_ok(filled.size == defaults.size && filled.name == defaults.name &&
               filled.channels == defaults.channels && filled.layout == defaults.layout &&
               filled.eps == defaults.eps && filled.eps_mode == defaults.eps_mode &&
               filled.momentum == defaults.momentum && filled.average == defaults.average &&
               filled.affine == defaults.affine &&
               filled.track_running_stats == defaults.track_running_stats &&
               filled.dimensions == defaults.dimensions && filled.type == defaults.type &&
               filled.activation == defaults.activation && filled.slope == defaults.slope &&
               filled.residual == defaults.residual && filled.from_output == defaults.from_output,
           "init: the defaults of the macro");
    sbn_sampler sampler;
    sbn_group_config group;
    sbn_load_config load;
    sbn_data_parallel_config parallel;
    sbn_shard shards[2];
    memset(shards, 0xa5, sizeof shards);
    expect(sbn_shard_init(NULL, sizeof *shards), SBN_INVALID_ARGUMENT, "shard|sbn_shard|got NULL",
           "shard: NULL");
    for (int i = 0; i < 2; ++i)
        must(sbn_shard_init(&shards[i], sizeof shards[i]), "sbn_shard_init");
    const sbn_shard *last = &shards[1];
    tap_ok(shards->size == sizeof *last && last->size == sizeof *last && !last->dims &&
               !last->shape[4] && !last->x.mem && !last->bias_grad.offset && !last->num_wait &&
               !last->event && !last->dx_pitch && !last->memory && !last->running_var.mem,
           "init: elements of an array of shards");
    must(sbn_sampler_init(&sampler, sizeof sampler), "sbn_sampler_init");
    must(sbn_group_config_init(&group, sizeof group), "sbn_group_config_init");
    must(sbn_load_config_init(&load, sizeof load), "sbn_load_config_init");
    must(sbn_data_parallel_config_init(&parallel, sizeof parallel),
         "sbn_data_parallel_config_init");
    tap_ok(sampler.size == sizeof sampler && sampler.replicas == 1 && sampler.shuffle == 1 &&
               group.size == sizeof group && group.timeout == 300.0 && load.size == sizeof load &&
               load.strict == 1 && parallel.size == sizeof parallel &&
               parallel.bucket_bytes == 4u << 20,
           "init: those of the others");
}

int main(void)
{
    char checkpoint[1024];
    const char *top = getenv("srcdir");
    if (fixture_open(&device))
        return fixture_missing();
    snprintf(checkpoint, sizeof checkpoint, "%s/tests/model/data/network_f32.safetensors",
             top ? top : ".");
    queue = fixture_queue(&device, 0);
    const uint64_t current = check_program(growth_current, checkpoint, "structs of now");
    const uint64_t older = check_program(growth_older, checkpoint, "structs with fewer fields");
    const uint64_t newer = check_program(growth_newer, checkpoint, "structs with later fields");
    tap_ok(older == current && newer == current, "all have the same results");
    check_sizes();
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
