/* A model of two layers, as of tests/model/data/network_f16.safetensors, whose calls fail. */
#ifndef TESTS_FAULTS_MODEL_H
#define TESTS_FAULTS_MODEL_H

#include "faults/stand.h"
#include "support/vectors.h"

enum { MODEL_LAYERS = 2 };

extern const char *const model_names[MODEL_LAYERS];
extern const size_t model_channels[MODEL_LAYERS];

typedef struct faulty_model {
    sbn_model *model; /* of the first layers; its groups have one replica and three */
    sbn_parameters parameters[MODEL_LAYERS][REPLICAS];
    float read[2][8];
    int undefined; /* a copy has failed: what the buffers hold is not known */
} faulty_model;

extern faulty_model under;

/* Groups, layers in the second, and buffers; all of them destroyed, and the model. */
void model_begin(void);
void model_end(void);

/* The model of both layers. */
int model_make(void);

/* Weights and biases of the first replicas, and running statistics. */
uint64_t model_values(uint64_t digest, size_t replicas);

#endif
