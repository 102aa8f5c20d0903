/* The definition of a model: a list of named layers. */
#pragma once

#include "model/entry.h"

struct sbn_model {
    sbn_object object;
    size_t size;
    sbn_entry *entries;
};

/* Fails unless the model has the buffers of all its affine layers. */
int sbn__check_known(const sbn_model *model);
