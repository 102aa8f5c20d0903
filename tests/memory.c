/*
 * Synchronising takes no memory on the devices beyond what the same layers take apart, and both
 * take little: less than a hundredth of the tensor, or 1 MB.
 */
#include "fixture.h"

enum { REPLICAS = 2, CHANNELS = 16, PLANE = 64 * 64, SAMPLES = 4 };

static fixture device;
static cl_command_queue queue;

typedef struct replica {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
} replica;

/* A layer in a group of its own. */
static void open(replica *r, size_t members)
{
    const cl_command_queue queues[REPLICAS] = {queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
    config.queues = queues;
    config.replicas = members;
    layer.channels = CHANNELS;
    must(sbn_group_create(&config, &r->group), "sbn_group_create");
    must(sbn_batchnorm_create(r->group, &layer, &r->layer), "sbn_batchnorm_create");
    must(sbn_saved_create(r->layer, &r->saved), "sbn_saved_create");
}

/* The most that the library holds over a forward and a backward pass, of `groups` groups. */
static size_t peak(size_t groups, slice slices[REPLICAS])
{
    replica replicas[REPLICAS];
    sbn_share shares[REPLICAS] = {{0}};
    size_t most = 0;
    for (size_t r = 0; r < REPLICAS; ++r)
        shares[r] = slices[r].share;
    for (size_t g = 0; g < groups; ++g)
        open(&replicas[g], REPLICAS / groups);
    for (int backward = 0; backward < 2; ++backward) {
        sbn_pass *passes[REPLICAS];
        for (size_t g = 0; g < groups; ++g)
            must(backward ? sbn_backward_begin(replicas[g].layer, &shares[g], replicas[g].saved, 0,
                                               &passes[g])
                          : sbn_forward_begin(replicas[g].layer, &shares[g], replicas[g].saved, 0,
                                              &passes[g]),
                 "begin");
        for (size_t g = 0; g < groups; ++g) {
            must(sbn_pass_end(passes[g], NULL), "end");
            most = sbn_device_memory() > most ? sbn_device_memory() : most;
        }
    }
    for (size_t g = 0; g < groups; ++g) {
        sbn_saved_destroy(replicas[g].saved);
        sbn_batchnorm_destroy(replicas[g].layer);
        sbn_group_destroy(replicas[g].group);
    }
    return most;
}

int main(void)
{
    slice slices[REPLICAS];
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    for (size_t r = 0; r < REPLICAS; ++r)
        slice_open(&slices[r], &device, queue, r * SAMPLES, SAMPLES, CHANNELS, PLANE, 1);
    const size_t apart = peak(REPLICAS, slices), together = peak(1, slices);
    const size_t tensor = sizeof(float) * REPLICAS * SAMPLES * CHANNELS * PLANE;
    tap_ok(together <= apart && together > 0, "%zu bytes synchronised, %zu apart", together, apart);
    tap_ok(together <= tensor / 100 || together <= 1 << 20, "%zu bytes beside a tensor of %zu",
           together, tensor);
    for (size_t r = 0; r < REPLICAS; ++r)
        slice_close(&slices[r]);
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
