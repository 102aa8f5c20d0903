/* A network of three layers for tests of models: "plain" has neither weight and bias nor running statistics. */
#pragma once

#include "support/vectors.h"

enum { LAYERS = 3, REPLICAS = 3, CHANNELS = 4, MOST = 24, PLANE = 20, SAMPLES = 6 };

extern const char *const network_names[LAYERS];

/* How a layer is made. */
typedef struct network_layer {
    const char *name;
    size_t channels;
    int bare, untracked; /* no weight and bias; no running statistics */
} network_layer;

typedef struct network {
    const fixture *device;
    cl_command_queue queue;
    sbn_model *model;
    sbn_batchnorm *layers[LAYERS];
    sbn_parameters parameters[LAYERS][REPLICAS]; /* as many as were ever made */
} network;

void network_open(network *n, const fixture *device, cl_command_queue queue, sbn_group *group,
                  size_t replicas);
void network_open_of(network *n, const fixture *device, cl_command_queue queue, sbn_group *group,
                     size_t replicas, const network_layer of[LAYERS]);
void network_close(network *n);

/* weight, weight + 1, ...; bias, bias - 1, ...: of so many channels */
sbn_parameters network_parameters(const network *n, size_t channels, float weight, float bias);

/* Are all of a replica's weights and biases these? */
int network_holds(const network *n, size_t layer, size_t replica, float weight, float bias);

/* All that a load could change. */
uint64_t network_digest(const network *n);

/* Which layers train (07) and which are frozen (070), as bits. */
int network_flags(const network *n);
