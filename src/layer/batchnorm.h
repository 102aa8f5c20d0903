/* The definition of a layer. */
#pragma once

#include <syncbn/pass.h>

#include "base/error.h"
#include "collective/settings.h"
#include "device/channel_table.h"
#include "exact/statistics.h"
#include "group/group.h"
#include "plan/shape.h"

typedef struct sbn_running sbn_running;

struct sbn_batchnorm {
    sbn_object object;
    sbn_group *group;
    char *name;
    sbn_batchnorm_config config; /* its slope is not rounded; kernels have the nearest float */
    size_t channels;             /* these, up to `tracks`, as in `config` */
    sbn_eps eps;
    int affine, tracks;
    int fusion; /* what is behind the batch norm, of base/activation.h */
    int training, frozen;
    int under_way;        /* passes of it */
    uint32_t generation;  /* how often the layer has changed its group */
    size_t saved, models; /* objects that need the layer; `batch` is one of them */
    sbn_settings settings;

    sbn_running *running;    /* NULL: it tracks none */
    sbn_channel_table table; /* coefficients of the running statistics, from their first use on */
    unsigned table_version;  /* of those in the table's host copy */
    sbn_shape *shapes;       /* per replica, of the evaluation being enqueued */

    sbn_saved *batch; /* for evaluation by batch statistics; made when first needed */
};

/* 1 if its forward pass keeps a mask. */
static inline int sbn__is_masked(const sbn_batchnorm *layer)
{
    return layer->config.residual && layer->config.activation != SBN_IDENTITY;
}

/* 1 if the layer normalises by its running statistics. */
static inline int sbn__is_fixed(const sbn_batchnorm *layer)
{
    return layer->tracks && (!layer->training || layer->frozen);
}

/* Fails, with `what` in the sentence, while passes of the layer are under way. */
static inline int sbn__check_idle(const sbn_batchnorm *layer, const char *what)
{
    if (layer->under_way == 0)
        return SBN_SUCCESS;
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "layer \"%s\": passes of it are under way; end them before %s", layer->name,
                     what);
}
