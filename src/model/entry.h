/* An entry of a model: a layer, its name, and the buffers of its weight and bias. */
#pragma once

#include <syncbn/model.h>

#include "layer/batchnorm.h"

typedef struct sbn_entry {
    char *name;
    sbn_batchnorm *layer;
    size_t replicas;            /* of `parameters` */
    sbn_parameters *parameters; /* NULL: not known to the model; buffers retained */
} sbn_entry;

/* Checks the buffers of one per replica of the group. */
int sbn__check_parameters(const char *name, const sbn_batchnorm *layer, const sbn_group *group,
                          const sbn_parameters *parameters);

/* Makes a copy, with the buffers retained: to be dropped, whatever it returns. */
int sbn__parameters_keep(const sbn_parameters *parameters, size_t replicas, sbn_parameters **kept);
void sbn__parameters_drop(sbn_parameters *parameters, size_t replicas);

/* Fails if the layer is affine and the model does not have its buffers, one for each replica. */
int sbn__entry_check_known(const sbn_entry *entry);

/* Is the layer in a group of as many replicas as there are buffers? It may have moved by itself. */
int sbn__check_replicas(const sbn_entry *entry);

/* Blocking copies of an entry's weight and bias, of checked replicas; NULL leaves one out. */
int sbn__parameters_read(const sbn_entry *entry, float *weight, float *bias);
int sbn__parameters_write(const sbn_entry *entry, const float *weight, const float *bias);
