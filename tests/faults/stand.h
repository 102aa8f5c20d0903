/* What the scenarios share: three queues of the first PoCL device, and batches for each. */
#ifndef TESTS_FAULTS_STAND_H
#define TESTS_FAULTS_STAND_H

#include "program/opencl.h"
#include "support/fixture.h"

enum { REPLICAS = 3, CHANNELS = 5, PLANE = 48, SAMPLES = 2 };

typedef struct stand {
    fixture device;
    cl_command_queue queues[REPLICAS]; /* the second is out of order */
    slice slices[REPLICAS];
    slice huge[REPLICAS];    /* whose sums need the wide format */
    slice more[2][REPLICAS]; /* for outputs of other layers */
    slice narrow[REPLICAS];  /* whose x and dy are bfloat16s, with room for as many floats */
} stand;

extern stand at;

/* 0, or 1 where there is no device. */
int stand_open(void);
void stand_close(void);

/* A group of the first queues, or of those from one on; `folder` as in sbn_group_config. */
int stand_group_from(size_t first, size_t replicas, sbn_kernel_form form, const char *folder,
                     sbn_group **group);
int stand_group(size_t replicas, const char *folder, sbn_group **group);

/* A layer of CHANNELS channels with the usual settings; of floats. */
int stand_layer_of(sbn_group *group, const char *name, sbn_type type, sbn_batchnorm **layer);
int stand_layer(sbn_group *group, const char *name, sbn_batchnorm **layer);

/* Waits for all queues, of which nothing counts or fails. */
void stand_finish(void);

/* Outputs of the first replicas to the pattern. */
void stand_reset(size_t replicas);

/* Releases the events of all replicas, where there are any. */
void stand_release(cl_event events[REPLICAS]);

/* Digests: of the outputs, of those of other slices, and of a layer's running statistics. */
uint64_t stand_outputs(uint64_t digest, size_t replicas);
uint64_t stand_outputs_of(uint64_t digest, const slice *slices, size_t replicas);
uint64_t stand_running(uint64_t digest, const sbn_batchnorm *layer);

/* Has the group not failed? */
int stand_usable(const sbn_group *group);

#endif
