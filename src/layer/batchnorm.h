/* The definitions of a layer and of what a forward pass saves. */
#ifndef SBN_LAYER_BATCHNORM_H
#define SBN_LAYER_BATCHNORM_H

#include <syncbn/pass.h>

#include "collective/settings.h"
#include "group/group.h"
#include "layer/coefficients.h"
#include "layer/mask.h"
#include "layer/moments.h"
#include "layer/running.h"
#include "plan/shape.h"

struct sbn_batchnorm {
    sbn_object object;
    sbn_group *group;
    char *name;
    size_t channels;
    sbn_layout layout;
    sbn_eps eps;
    double momentum;
    sbn_average average;
    int affine, tracks, dimensions;
    sbn_type type;
    sbn_activation activation;
    double slope; /* as configured; kernels have the nearest float */
    int residual, from_output;
    int fusion; /* these three, of base/activation.h */
    int training, frozen;
    int under_way;        /* passes of it */
    uint32_t generation;  /* how often the layer has changed its group */
    size_t saved, models; /* objects that need the layer; `batch` is one of them */
    sbn_settings settings;

    sbn_running *running;    /* NULL: it tracks none */
    sbn_channel_table table; /* coefficients of the running statistics, from their first use on */
    unsigned table_version;  /* of those in the table's host copy; 0: none */
    char *table_fresh;       /* per replica: the device's copy is that one */
    sbn_shape *shapes;       /* per replica, of the evaluation being enqueued */

    sbn_saved *batch; /* for evaluation by batch statistics; made when first needed */
};

struct sbn_saved {
    sbn_object object;
    sbn_batchnorm *layer;
    uint32_t generation; /* of the layer when the table was made */
    int filled;          /* by a forward that has ended */
    int frozen;          /* filled with running statistics, as constants */
    int used;            /* passes under way that read or fill it */
    int filling;         /* one of them fills it */
    uint32_t pass;       /* the forward's number in the group, */
    uint32_t place;      /* and the layer's place in it */
    uint64_t count;
    sbn_saved_moments *moments;
    sbn_shape *shapes; /* per replica */
    sbn_mask *masks;   /* per replica; empty unless the layer needs them */
    size_t mask_count;
    sbn_channel_table table; /* coefficients */
};

/* Moves saved statistics to the current group of their layer; their content is lost. */
int sbn__saved_follow(sbn_saved *saved);

/* Brings the host's copy of what is saved up to date. */
int sbn__saved_read(const sbn_saved *saved);

/* 1 if its forward pass keeps a mask, and if its backward pass finds the sign of z instead. */
int sbn__is_masked(const sbn_batchnorm *layer);
int sbn__finds_sign(const sbn_batchnorm *layer);

/* 1 if the layer normalises by its running statistics. */
int sbn__is_fixed(const sbn_batchnorm *layer);

/* Fails, with `what` in the sentence, while passes of the layer are under way. */
int sbn__check_idle(const sbn_batchnorm *layer, const char *what);

/*
 * Checks saved statistics that a pass of `layer` is to read: filled by that layer, and not being
 * filled.
 */
int sbn__check_filled(const sbn_saved *saved, const sbn_batchnorm *layer);

/* The shards must have the shapes of the forward that filled `saved`. */
int sbn__check_same_shapes(const sbn_saved *saved, const sbn_shape *shapes, const char *operation);

/* Updates the running statistics, whose host copy is up to date, by the moments of a batch. */
void sbn__batchnorm_track(sbn_batchnorm *layer, const double *mean, const double *var,
                          uint64_t count);

/* The weight of the batch that has been counted last. */
double sbn__batchnorm_weight(const sbn_batchnorm *layer);

#endif
