/*
 * A batch normalisation layer: settings and running statistics. Weight and
 * bias (gamma, beta) are the caller's buffers on each device, handed to each
 * pass; the running statistics live here, on the host.
 *
 *   y = (x - mean) / sqrt(var + eps) * weight + bias
 *
 * Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 1. Mean and variance
 * (biased) are per channel over all samples and positions of the group. The
 * semantics, where that paper is silent, are those of PyTorch's BatchNorm.
 */
#ifndef SYNCBN_BATCHNORM_H
#define SYNCBN_BATCHNORM_H

#include <syncbn/group.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_batchnorm sbn_batchnorm;

/* How a tensor lies in memory; shapes are always given as N, C, then space. */
typedef enum sbn_layout {
    SBN_LAYOUT_NCHW = 0, /* (N,C), (N,C,L), (N,C,H,W), (N,C,D,H,W) */
    SBN_LAYOUT_NHWC = 1  /* (N,C), (N,L,C), (N,H,W,C), (N,D,H,W,C) */
} sbn_layout;

typedef enum sbn_eps_mode {
    SBN_EPS_ADD = 0,  /* 1 / sqrt(var + eps) */
    SBN_EPS_CLAMP = 1 /* 1 / sqrt(max(var, eps)); no gradient through a clamped variance */
} sbn_eps_mode;

typedef enum sbn_average {
    SBN_AVERAGE_MOMENTUM = 0,  /* running += momentum * (batch - running) */
    SBN_AVERAGE_CUMULATIVE = 1 /* the plain mean of all batches: PyTorch's momentum=None */
} sbn_average;

typedef struct sbn_batchnorm_config {
    size_t size;      /* sizeof(sbn_batchnorm_config) */
    const char *name; /* for error sentences and agreement between ranks; NULL: "batchnorm" */
    size_t channels;  /* >= 1 */
    sbn_layout layout;
    /*
     * >= 0 and finite. With 0, y and dx of a channel of variance 0 are NaN, in training and in
     * evaluation. (PyTorch evaluates such a channel to +-Inf where x is not the mean, and has
     * refused 0 in training since 2.15.)
     */
    double eps;
    sbn_eps_mode eps_mode;
    double momentum; /* weight of the new batch, 0 ... 1 */
    sbn_average average;
    int affine;              /* 1: weight and bias are read and have gradients */
    int track_running_stats; /* 0: evaluation uses batch statistics, and synchronises */
    int dimensions;          /* of space, others are refused: 1 (N,C) and (N,C,L), 2 (N,C,H,W),
                                3 (N,C,D,H,W); 0: all are taken */
} sbn_batchnorm_config;

/* Start from this and set `channels`: eps 1e-5, momentum 0.1, affine, tracking, channels first. */
#define SBN_BATCHNORM_CONFIG_INIT \
    { \
        sizeof(sbn_batchnorm_config), NULL, 0, SBN_LAYOUT_NCHW, 1e-5, SBN_EPS_ADD, 0.1, \
            SBN_AVERAGE_MOMENTUM, 1, 1, 0 \
    }

/*
 * Makes a layer of the group: running mean 0, running variance 1, no batches
 * tracked. Every rank of the group makes it with the same settings; a
 * difference is found at the first pass. Errors: SBN_INVALID_ARGUMENT,
 * SBN_OUT_OF_MEMORY, OpenCL's codes.
 */
SBN_API int sbn_batchnorm_create(sbn_group *group, const sbn_batchnorm_config *config,
                                 sbn_batchnorm **layer);

/*
 * Ends a layer. SBN_INVALID_ARGUMENT, and the layer stays, while passes of it
 * are under way and until its saved statistics, and the models that have it, are
 * destroyed.
 */
SBN_API int sbn_batchnorm_destroy(sbn_batchnorm *layer);

/* The settings that the layer was made with. config->size must be set; `name` is the layer's. */
SBN_API int sbn_batchnorm_get_config(const sbn_batchnorm *layer, sbn_batchnorm_config *config);

/* The group that the layer belongs to; NULL for another handle. */
SBN_API sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer);

/*
 * Training (1, as after create) or evaluation (0): PyTorch's train() and eval().
 * In evaluation sbn_forward normalises by the running statistics and leaves
 * them alone, sbn_backward takes them as constants, and neither needs the other
 * ranks of the group; see pass.h. A layer without running statistics uses
 * those of the batch in either. Evaluation without a backward pass needs no such
 * switch: sbn_evaluate. All ranks switch between the same passes. Refused
 * while passes of the layer are under way.
 */
SBN_API int sbn_batchnorm_train(sbn_batchnorm *layer, int training);
SBN_API int sbn_batchnorm_is_training(const sbn_batchnorm *layer);

/*
 * A frozen layer (1) behaves as in evaluation, whatever sbn_batchnorm_train
 * says, until it is released (0): for batch norm that is frozen late in training.
 * Whether weight and bias are still trained is the caller's choice in each
 * backward pass, by their gradients' buffers.
 */
SBN_API int sbn_batchnorm_freeze(sbn_batchnorm *layer, int frozen);
SBN_API int sbn_batchnorm_is_frozen(const sbn_batchnorm *layer);

/*
 * Moves the layer to another group: from a group of one replica to one over
 * all (PyTorch's convert_sync_batchnorm) and back. Settings, running statistics,
 * training and frozen stay; weight and bias are the caller's buffers as before.
 * Saved statistics of the layer are empty afterwards and go on with it. Refused
 * while passes of the layer are under way; after any error the layer is where
 * it was. The former group may be destroyed then.
 */
SBN_API int sbn_batchnorm_convert(sbn_batchnorm *layer, sbn_group *group);

/*
 * Copies the running statistics out: `mean` and `var` hold `channels` floats
 * each; any pointer may be NULL. The variance is the unbiased one, n / (n - 1)
 * times the variance that normalised, as in PyTorch. They are up to date when
 * the forward pass has ended. SBN_INVALID_ARGUMENT if the layer tracks none.
 */
SBN_API int sbn_batchnorm_get_running_stats(const sbn_batchnorm *layer, float *mean, float *var,
                                            int64_t *num_batches_tracked);

/* Sets them; NULL leaves a part as it is. A negative count is refused; values are not judged. */
SBN_API int sbn_batchnorm_set_running_stats(sbn_batchnorm *layer, const float *mean,
                                            const float *var, const int64_t *num_batches_tracked);

/* Mean 0, variance 1, no batches tracked. */
SBN_API int sbn_batchnorm_reset_running_stats(sbn_batchnorm *layer);

/*
 * What a forward pass in training leaves for its backward pass: the group's
 * mean, variance and count, on the host and on each device, and the shapes.
 * One for each forward that is still to be followed by its backward: a layer
 * used twice, a GAN's two passes or micro-batches take several. Reused by the
 * next forward it is given to. It can be read by any number of backwards and
 * recomputations.
 */
typedef struct sbn_saved sbn_saved;

SBN_API int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved);

/* SBN_INVALID_ARGUMENT, and they stay, while a pass that fills or reads them is under way. */
SBN_API int sbn_saved_destroy(sbn_saved *saved);

/*
 * Copies out the mean and the biased variance that normalised (`channels` floats
 * each, rounded from the host's doubles) and the values per channel over the
 * whole group; any pointer may be NULL. SBN_INVALID_ARGUMENT before the first
 * forward.
 *
 * They differ from those of the exact sums by the rounding within blocks of 256
 * elements of a plane (doc/order.md has bounds; planes of one element have
 * none). Besides, up to 2^-63 in the mean and 2^-78 in the variance are cut off
 * where elements of 2^-24 and more are among the channel's, as long as variance
 * and eps are 2^-48 or more together: a variance below 2^-78 may then come as 0.
 */
SBN_API int sbn_saved_get(const sbn_saved *saved, float *mean, float *var, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
