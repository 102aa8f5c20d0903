/*
 * Layers with from_output and ordinary ones, side by side on the same values: tests/pass/from_output.c
 * compares what they write.
 */
#ifndef TESTS_PASS_OUTPUT_SIDES_H
#define TESTS_PASS_OUTPUT_SIDES_H

#include "support/fixture.h"
#include "support/storage.h"
#include "support/trial.h"

enum { SIDES_REPLICAS = 3 };

typedef struct case_of {
    sbn_type type;
    sbn_layout layout;
    size_t samples, channels, plane;
    int values; /* VALUES_... */
    size_t replicas;
    int frozen;
    sbn_activation activation;
} case_of;

/* The slope of the tests' leaky ReLUs. */
#define SIDES_SLOPE 0.2f

/*
 * Values near 1, some of them subnormal or -0; any finite bits; the first with NaN and infinities; channels
 * of a constant, of one outlier, of a mean that is large against the spread, and of tiny numbers.
 */
enum { VALUES_PLAIN, VALUES_ANY, VALUES_SPECIAL, VALUES_HARD };

/* A device, and a group of its replicas. */
typedef struct setup {
    const char *device;
    int has_cpu_form;
    sbn_kernel_form form;
    int on_host; /* where passes are combined */
    sbn_group *group;
    cl_context context;
    cl_command_queue queue;
} setup;

/* By what the setup says; ended by sbn_group_destroy. */
void setup_open_group(setup *on, size_t replicas);

/* A device's setups: in the CPU form each place of combining; then the GPU form. */
void setup_each(const device_info *info, void (*check)(setup *on, size_t replicas));

/* malloc, also of nothing. */
void *room(size_t size);

/* The shards of one layer, all replicas', and what it has besides. */
typedef struct side {
    sbn_shard shards[SIDES_REPLICAS];
    size_t elements[SIDES_REPLICAS];
    sbn_batchnorm *layer;
    sbn_saved *saved;
} side;

/*
 * Makes the layer and its buffers; x and dy hold the same values on both sides, and weights and biases are
 * such as from_output takes, ratios up to the limit among them.
 */
void side_open(side *s, const case_of *c, int from_output, const setup *on);
void side_close(side *s, const case_of *c);

#endif
