/* What the scenarios share: three queues of the first PoCL device, batches for each, and objects. */
#pragma once

#include "support/fixture.h"

enum { REPLICAS = 3, CHANNELS = 5, PLANE = 48, SAMPLES = 2, GROUPS = 5, LAYERS = 3 };

typedef struct stand {
    fixture device;
    cl_command_queue queues[REPLICAS]; /* the second is out of order */
    slice slices[REPLICAS];
    slice huge[REPLICAS];         /* whose sums need the wide format */
    slice more[LAYERS][REPLICAS]; /* for layers side by side */
    /* Of the scenario; NULL where there is none. */
    sbn_group *groups[GROUPS];
    sbn_batchnorm *layers[LAYERS];
    sbn_saved *saved[LAYERS];
    cl_event events[REPLICAS];
} stand;

extern stand at;

/* 0, or 1 where there is no device. */
int stand_open(void);
void stand_close(void);

/*
 * Make an object unless it is there, of settings as of MAKE_GROUP and MAKE_LAYER: a group of the first queues, unless
 * they name others; a layer of CHANNELS channels, unless they say how many; saved statistics.
 */
#define STAND_GROUP(i, ...) stand_group(i, (sbn_group_config){__VA_ARGS__})
#define STAND_LAYER(i, group, ...) stand_layer(i, group, (sbn_batchnorm_config){__VA_ARGS__})
int stand_group(size_t i, sbn_group_config settings);
int stand_layer(size_t i, sbn_group *group, sbn_batchnorm_config settings);
int stand_saved(size_t i, sbn_batchnorm *layer);

/* A layer and its saved statistics in the same place. */
int stand_both(size_t i, sbn_group *group);

/* A group that begins a scenario. */
void stand_begin(size_t i, size_t replicas);

/* Destroys them all; calls may fail. */
void stand_end(void);

/* Waits for all queues, of which nothing counts or fails. */
void stand_finish(void);

/* Digests: of outputs, and of a layer's running statistics. */
uint64_t stand_outputs(uint64_t digest, const slice *slices, size_t replicas);
uint64_t stand_running(uint64_t digest, const sbn_batchnorm *layer);

/* Has the group not failed? */
int stand_usable(const sbn_group *group);
