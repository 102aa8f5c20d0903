/* sbn_device_memory: what passes allocate, that it does not grow, and that all of it is freed. */
#include "support/ranks.h"
#include "support/wraps.h"

static void train(test_rank *m)
{
    must(sbn_forward(m->layer, m->shards, m->saved, 0, NULL), "sbn_forward");
    must(sbn_backward(m->layer, m->shards, m->saved, 0, NULL), "sbn_backward");
    must(sbn_evaluate(m->layer, m->shards), "sbn_evaluate");
    must(clFinish(m->queue), "clFinish");
}

/* As many channels as there may be lack nothing but memory. */
static void check_most_channels(sbn_group *group)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer = NULL;
    config.channels = INT32_MAX;
    wraps_fail(WRAP_ALLOCATE, 1);
    expect(sbn_batchnorm_create(group, &config, &layer), SBN_OUT_OF_MEMORY, "a layer",
           "2^31 - 1 channels");
    wraps_fail(WRAP_ALLOCATE, 0);
}

static fixture f;

static void checks(void)
{
    const size_t one[] = {1}, two[] = {2}, samples[] = {3, 2};
    test_ranks all;
    tap_ok(sbn_device_memory() == 0, "before any group: expected 0, got %zu", sbn_device_memory());

    ranks_open(&all, &f, 1, one, samples, NULL);
    train(&all.of[0]);
    const size_t of_one = sbn_device_memory();
    /* mean and variance at least, as floats */
    tap_ok(of_one >= 2 * RANK_CHANNELS * sizeof(float), "one replica: %zu bytes", of_one);
    train(&all.of[0]);
    tap_ok(sbn_device_memory() == of_one, "again: expected %zu, got %zu", of_one,
           sbn_device_memory());
    check_most_channels(all.of[0].group);
    ranks_close(&all);
    tap_ok(sbn_device_memory() == 0, "all destroyed: expected 0, got %zu", sbn_device_memory());

    ranks_open(&all, &f, 1, two, samples, NULL);
    train(&all.of[0]);
    const size_t of_two = sbn_device_memory();
    tap_ok(of_two > of_one, "two replicas take more than one: got %zu and %zu", of_two, of_one);
    ranks_close(&all);
    tap_ok(sbn_device_memory() == 0, "all destroyed: expected 0, got %zu", sbn_device_memory());

    /* A device with memory of its own keeps there what kernels touch in every pass. */
    size_t taken[2];
    for (cl_bool unified = CL_FALSE; unified <= CL_TRUE; ++unified) {
        wraps_device_says(CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
        ranks_open(&all, &f, 1, one, samples, NULL);
        train(&all.of[0]);
        taken[unified] = sbn_device_memory();
        ranks_close(&all);
        wraps_device_says(0, NULL, 0);
    }
    const size_t moments = 3 * sizeof(double) * RANK_CHANNELS;
    const size_t running = 2 * sizeof(float) * RANK_CHANNELS + sizeof(int64_t);
    tap_ok(taken[0] - taken[1] == moments + running,
           "without the host's memory a layer takes %zu bytes more, expected %zu",
           taken[0] - taken[1], moments + running);
}

int main(void)
{
    return fixture_main(&f, NULL, checks);
}
