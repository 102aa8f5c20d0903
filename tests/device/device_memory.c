/* sbn_device_memory: what passes allocate, that it does not grow, and that all of it is freed. */
#include "exact/accumulator.h"
#include "program/kernel_constants.h"
#include "support/main.h"
#include "support/ranks.h"
#include "support/wraps.h"

static void train(test_rank *m)
{
    must(sbn_forward(m->layer, m->shards, m->saved, 0, NULL), "sbn_forward");
    must(sbn_backward(m->layer, m->shards, m->saved, 0, NULL), "sbn_backward");
    must(sbn_evaluate(m->layer, m->shards), "sbn_evaluate");
    must(clFinish(m->queue), "clFinish");
}

/* By training on so many replicas; none is taken before or after. */
static size_t taken_by(size_t replicas)
{
    test_ranks all;
    sbn_batchnorm *layer = NULL;
    ranks_open(&all, &device, 1, &replicas, NULL, NULL);
    train(&all.of[0]);
    const size_t taken = sbn_device_memory();
    train(&all.of[0]);
    tap_ok(sbn_device_memory() == taken, "again: expected %zu, got %zu", taken,
           sbn_device_memory());
    /* As many channels as there may be lack nothing but memory. */
    const int status = WITH_FAILURE(WRAP_ALLOCATE, 1,
                                    MAKE_LAYER(&layer, all.of[0].group, .channels = INT32_MAX));
    expect(status, SBN_OUT_OF_MEMORY, "a layer", "2^31 - 1 channels");
    ranks_close(&all);
    return taken;
}

void checks(void)
{
    const size_t of_one = taken_by(1), of_two = taken_by(2);
    /* Tables of saved, running and a backward pass's coefficients, and accumulators of one slice. */
    const size_t rows = sizeof(float) * (3 * SBN_COEFFICIENT_ROWS + SBN_GRADIENT_ROWS);
    const size_t words = sbn__accumulator_length(&sbn_backward_narrow) + sbn__wide_limbs();
    tap_ok(of_one == RANK_CHANNELS * (rows + sizeof(int64_t) * words), "one replica: %zu bytes",
           of_one);
    tap_ok(of_two > of_one, "two replicas take more than one: got %zu and %zu", of_two, of_one);

    /* A device with memory of its own keeps there what kernels touch in every pass. */
    size_t taken[2];
    for (cl_bool unified = CL_FALSE; unified <= CL_TRUE; ++unified) {
        wraps_device_says(CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
        taken[unified] = taken_by(1);
        wraps_device_says(0, NULL, 0);
    }
    const size_t moments = 3 * sizeof(double) * RANK_CHANNELS;
    const size_t running = 2 * sizeof(float) * RANK_CHANNELS + sizeof(int64_t);
    tap_ok(taken[0] - taken[1] == moments + running,
           "without the host's memory a layer takes %zu bytes more, expected %zu",
           taken[0] - taken[1], moments + running);
}
