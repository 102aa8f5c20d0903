/* Frozen layers (tests/pass/frozen.c): the cases of frozen.safetensors. */
#ifndef TESTS_PASS_FROZEN_H
#define TESTS_PASS_FROZEN_H

#include "support/fixture.h"
#include "support/vectors.h"

enum { SAMPLES = 7, CHANNELS = 5, PLANE = 33, ELEMENTS = SAMPLES * CHANNELS * PLANE };

extern fixture frozen_device;
extern cl_command_queue frozen_queue;

/* Of one replica. */
sbn_group *make_group(const sbn_transport *transport);

/* A case of frozen.safetensors, with its layer. */
typedef struct example {
    const char *name;
    sbn_tensor_file file;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice s; /* the queue, and the whole batch's buffers */
} example;

void example_open(example *e, const char *name, sbn_group *group);
void example_close(example *e);

/* One check: a buffer has the file's values, within so many units in the last place. */
void expect_tensor(const example *e, const sbn_buffer *buffer, const char *name, double units);

/* A rank of two whose other never comes. */
void check_alone(void);

#endif
