/*
 * Two layers side by side, one of halves or bfloat16s, or with a fusion, and one of floats without
 * that holds the same values widened: tests/pass/types.c and tests/pass/activation.c compare what
 * they write.
 */
#ifndef TESTS_PASS_TYPES_H
#define TESTS_PASS_TYPES_H

#include "support/fixture.h"
#include "support/storage.h"
#include "support/trial.h"

enum { TYPES_REPLICAS = 3 };

typedef struct case_of {
    sbn_type type;
    sbn_layout layout;
    size_t samples, channels, plane;
    int values; /* VALUES_... */
    size_t replicas;
    int frozen;
    sbn_activation activation; /* of the side with a fusion */
    int residual;
    int invertible; /* weights and biases that from_output takes, ratios up to the limit among them */
    int from_output; /* of the side with a fusion */
    int flushes;     /* the device may take denormal floats for zeros, or write zeros for them */
} case_of;

/* The slope of the tests' leaky ReLUs. */
#define TYPES_SLOPE 0.2f

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
    int flushes; /* denormals */
    sbn_group *group;
    cl_context context;
    cl_command_queue queue;
} setup;

void setup_open(setup *on, const device_info *info);
void setup_close(setup *on);

/* By what the setup says; ended by sbn_group_destroy. */
void setup_open_group(setup *on, size_t replicas);

/* A device's setups: in the CPU form each place of combining; then the GPU form. */
void setup_each(const device_info *info, void (*check)(setup *on, size_t replicas));

/* malloc, also of nothing. */
void *room(size_t size);

/* The shards of one layer, all replicas', and what it has besides. */
typedef struct side {
    sbn_type type;
    sbn_shard shards[TYPES_REPLICAS]; /* with a residual and its gradient in any case */
    size_t elements[TYPES_REPLICAS];
    sbn_batchnorm *layer;
    sbn_saved *saved;
} side;

/*
 * Makes the layer, `fused` with what the case says, and its buffers; x, dy and the residual hold
 * the same values in any type.
 */
void side_open(side *s, const case_of *c, sbn_type type, int fused, sbn_group *group,
               cl_context context, cl_command_queue queue);
void side_close(side *s, const case_of *c);

/* Copies the elements of a tensor of floats out, and in. */
void side_read(const side *s, size_t replica, const sbn_buffer *buffer, cl_command_queue queue,
               float *values);
void side_write(const side *s, size_t replica, const sbn_buffer *buffer, cl_command_queue queue,
                const float *values);

/*
 * 1 if each element of `typed`, the buffer at `place` of every shard, is the float of the other
 * side rounded, or both are zeros or denormal where the device flushes, and nothing around it is
 * overwritten; else why not.
 */
int sides_agree(const side *typed, const side *floats, const case_of *c, size_t place,
                cl_command_queue queue, char *why, size_t size);

/* The same for statistics and gradients, which are floats on both sides. */
int sides_agree_in_channels(const side *typed, const side *floats, const case_of *c,
                            cl_command_queue queue, char *why, size_t size);

#endif
