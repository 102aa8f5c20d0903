/*
 * A batch normalisation layer: settings and running statistics. Weight and bias
 * (gamma, beta) are the caller's buffers on each device and are passed to each pass;
 * the running statistics are the layer's, on the host or a device.
 *
 *   y = (x - mean) / sqrt(var + eps) * weight + bias
 *
 * A layer may add a residual and apply an activation in the same passes. It may do its backward
 * pass from its output, so that y can take the place of x in training.
 *
 * Ioffe & Szegedy 2015, arXiv:1502.03167, algorithm 1. Mean and (biased) variance are
 * per channel, over all samples and positions of the group. Where that paper leaves
 * something open, the layer behaves as PyTorch's BatchNorm.
 */
#ifndef SYNCBN_BATCHNORM_H
#define SYNCBN_BATCHNORM_H

#include <syncbn/group.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_batchnorm sbn_batchnorm;

typedef enum sbn_eps_mode {
    SBN_EPS_ADD = 0,  /* 1 / sqrt(var + eps) */
    SBN_EPS_CLAMP = 1 /* 1 / sqrt(max(var, eps)); no gradient through a clamped variance */
} sbn_eps_mode;

typedef enum sbn_average {
    SBN_AVERAGE_MOMENTUM = 0,  /* running += momentum * (batch - running) */
    SBN_AVERAGE_CUMULATIVE = 1 /* the plain mean of all batches: PyTorch's momentum=None */
} sbn_average;

/*
 * What is applied last to what batch norm, and the residual, have made: z. NaN passes through all
 * of them. A result of 0 is +0.
 */
typedef enum sbn_activation {
    SBN_IDENTITY = 0,  /* z */
    SBN_RELU = 1,      /* z <= 0 ? 0 : z; gradient 0 where z <= 0 */
    SBN_LEAKY_RELU = 2 /* z > 0 ? z : slope z; gradient slope where not z > 0 */
} sbn_activation;

/* The settings of a layer. */
typedef struct sbn_batchnorm_config {
    size_t size;      /* sizeof(sbn_batchnorm_config) */
    const char *name; /* in error sentences; the same on all ranks; NULL: "batchnorm" */
    size_t channels;  /* >= 1 */
    sbn_layout layout;
    /*
     * >= 0 and finite. With 0, y and dx of a channel of variance 0 are NaN, in training and
     * in evaluation. (PyTorch evaluates such a channel to +-Inf where x is not the mean, and
     * has refused 0 in training since 2.15.) With 0, y and dx of a channel whose standard
     * deviation is below about 2^-64 are inaccurate or NaN, because squares of floats underflow
     * (doc/order.md).
     */
    double eps;
    sbn_eps_mode eps_mode;
    double momentum; /* weight of the new batch, 0 ... 1 */
    sbn_average average;
    int affine;              /* 1: weight and bias are read and have gradients */
    int track_running_stats; /* 0: evaluation uses batch statistics, and synchronises */
    int dimensions;          /* accepted shapes: 1 (N,C) and (N,C,L), 2 (N,C,H,W),
                                3 (N,C,D,H,W); 0: all of them */
    sbn_type type;           /* storage of x, y, dy, dx and the residual; all ranks agree. Weight,
                                bias, their gradients and all statistics are floats. */
    /* Fused into all passes; all ranks agree in them. */
    sbn_activation activation;
    double slope; /* of SBN_LEAKY_RELU: finite as a float, to which it is rounded */
    int residual; /* 1: the shards' residual is added before the activation */
    /*
     * 1: sbn_backward reads y, as the forward pass wrote it, in the place of x, and sbn_forward may
     * write y over x in training too. Bulo, Porzi & Kontschieder 2018, arXiv:1712.02616. All ranks
     * agree in it. Not with a residual nor with SBN_RELU, of which y does not give x back; the
     * slope of SBN_LEAKY_RELU must be 2^-14 to 2^14.
     *
     * Backward computes (x - mean) / sqrt(var + eps) as (z - bias) / weight, where z is y without
     * the activation. It needs the weight and the bias of the forward pass. The rounding of y is off
     * that by at most
     *
     *   u (|xhat| + |bias / weight|) + tiny / |weight|
     *
     * standard deviations; u is 2^-24 in SBN_F32, 2^-11 in SBN_F16 and 2^-8 in SBN_BF16, tiny is
     * 2^-126, in SBN_F16 2^-25, and over the slope where that is below 1. doc/from-output.md says what
     * this makes of the gradients, which otherwise are those of a layer without the setting. A y
     * that has become infinite, as in SBN_F16 from 65520 on, makes weight_grad and dx of its
     * channel NaN. Of SBN_LEAKY_RELU the gradient passes where y > 0: not where z was so small that
     * y is 0.
     *
     * So that the bias does not drown x, sbn_forward reads weight and bias, after the wait list, and
     * waits for them. A channel whose weight is not finite, or with
     *
     *   |weight| < 2^4 (u |bias| + tiny)
     *
     * is SBN_INVALID_ARGUMENT, which names it, before anything is written or counted, and on all
     * ranks: so is a weight of 0. What is then lost is at most 2^-4 of a standard deviation, besides
     * u |xhat|: with |bias| up to 16 |weight| in SBN_BF16 and 128 |weight| in SBN_F16. Without an
     * affine part there is nothing to check. sbn_evaluate and sbn_recompute do as without the
     * setting.
     */
    int from_output;
} sbn_batchnorm_config;

/*
 * eps 1e-5, momentum 0.1, affine, tracking, NCHW, SBN_F32, no activation (slope 0.01), no residual,
 * backward from x. Set `channels`.
 */
#define SBN_BATCHNORM_CONFIG_INIT \
    { \
        sizeof(sbn_batchnorm_config), NULL, 0, SBN_LAYOUT_NCHW, 1e-5, SBN_EPS_ADD, 0.1, \
            SBN_AVERAGE_MOMENTUM, 1, 1, 0, SBN_F32, SBN_IDENTITY, 0.01, 0, 0 \
    }

/* Writes SBN_BATCHNORM_CONFIG_INIT to a struct of `size` bytes. */
SBN_API int sbn_batchnorm_config_init(sbn_batchnorm_config *config, size_t size);

/*
 * Makes a layer of the group: running mean 0, running variance 1, no batches tracked.
 * Does not communicate. Every rank of the group makes the layer with the same
 * settings, except the layout; a difference is an error of the first pass. Errors:
 * SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes; *layer is then NULL.
 */
SBN_API int sbn_batchnorm_create(sbn_group *group, const sbn_batchnorm_config *config,
                                 sbn_batchnorm **layer);

/*
 * Ends a layer. SBN_INVALID_ARGUMENT, and the layer stays, while passes of it are
 * under way and until its saved statistics and the models that have it are destroyed.
 */
SBN_API int sbn_batchnorm_destroy(sbn_batchnorm *layer);

/* Copies out the settings that the layer was made with; `name` is the layer's own. */
SBN_API int sbn_batchnorm_settings(const sbn_batchnorm *layer, sbn_batchnorm_config *config);

/* The group that the layer belongs to. */
SBN_API sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer);

/*
 * Training (1, as after create) or evaluation (0): PyTorch's train() and eval().
 *
 * In evaluation sbn_forward normalises by the running statistics and does not change
 * them, sbn_backward treats them as constants, and neither needs other ranks; see
 * pass.h. A layer without running statistics uses those of the batch in both. To
 * evaluate without a backward pass, sbn_evaluate needs no switch. All ranks switch
 * between the same passes. SBN_INVALID_ARGUMENT while passes of the layer are under
 * way.
 */
SBN_API int sbn_batchnorm_set_training(sbn_batchnorm *layer, int training);

/* 1 in training, 0 in evaluation. */
SBN_API int sbn_batchnorm_is_training(const sbn_batchnorm *layer);

/*
 * Freezes the layer (1) or releases it (0). A frozen layer behaves as in evaluation
 * whatever sbn_batchnorm_set_training says: for batch norm that is frozen late in
 * training. Whether weight and bias are still trained is the caller's choice in each
 * backward pass, by giving buffers for their gradients or not.
 */
SBN_API int sbn_batchnorm_set_frozen(sbn_batchnorm *layer, int frozen);

/* 1 if the layer is frozen, else 0. */
SBN_API int sbn_batchnorm_is_frozen(const sbn_batchnorm *layer);

/*
 * Moves the layer to another group, for example from a group of one replica to one
 * over all of them (PyTorch's convert_sync_batchnorm) and back. Does not communicate.
 * Settings, running statistics, training and frozen stay; weight and bias are the
 * caller's buffers as before. Saved statistics of the layer move with it and are
 * empty afterwards. The former group may be destroyed then. SBN_INVALID_ARGUMENT
 * while passes of the layer are under way; after any error the layer is where it was.
 */
SBN_API int sbn_batchnorm_set_group(sbn_batchnorm *layer, sbn_group *group);

/*
 * Copies the running statistics out: `mean` and `var` receive `channels` floats each;
 * any pointer may be NULL. The variance is the unbiased one, n / (n - 1) times the
 * variance that normalised, as in PyTorch. They include a forward pass once it has
 * ended; where devices combine (pass.h) this waits for it, and may report its failure.
 * SBN_INVALID_ARGUMENT if the layer has none.
 */
SBN_API int sbn_batchnorm_running_stats(const sbn_batchnorm *layer, float *mean, float *var,
                                        int64_t *num_batches_tracked);

/*
 * Sets the running statistics; a NULL leaves its part unchanged. A negative count is
 * SBN_INVALID_ARGUMENT; the values of mean and variance are not checked.
 */
SBN_API int sbn_batchnorm_set_running_stats(sbn_batchnorm *layer, const float *mean,
                                            const float *var, const int64_t *num_batches_tracked);

/* Sets mean 0, variance 1, no batches tracked. */
SBN_API int sbn_batchnorm_reset_running_stats(sbn_batchnorm *layer);

/*
 * Saved statistics: what a forward pass in training keeps for its backward pass. They
 * are the group's mean, variance and count, on each device and, once they are needed
 * there, on the host, and the shapes. Of a layer with a residual and an activation they
 * also keep a mask on each device, of where the activation passes the gradient: a bit for
 * each element (in the GPU form two).
 *
 * Each forward pass whose backward pass is still to come needs one of its own: a
 * layer that is used twice, a GAN's two passes or micro-batches need several. A later
 * forward pass may fill it again. Any number of backward passes and recomputations
 * may read it.
 */
typedef struct sbn_saved sbn_saved;

/* Makes empty saved statistics of a layer. Errors as of sbn_batchnorm_create. */
SBN_API int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved);

/* Ends saved statistics. SBN_INVALID_ARGUMENT, and they stay, while a pass uses them. */
SBN_API int sbn_saved_destroy(sbn_saved *saved);

/*
 * Copies out the mean and the biased variance that normalised (`channels` floats each,
 * rounded from doubles) and the number of values per channel over the whole group; any
 * pointer may be NULL. Where devices combine (pass.h) this waits for the forward pass,
 * unless only the count is asked for, and may report its failure. SBN_INVALID_ARGUMENT
 * before the first forward pass, and after the layer has moved to another group.
 *
 * They differ from those of the exact sums by the rounding within blocks of 256
 * elements of a plane (doc/order.md has bounds; planes of one element have none).
 * Besides, up to 2^-63 of the mean and 2^-78 of the variance are cut off where elements
 * of 2^-24 and more are among the channel's, as long as variance and eps are 2^-48 or
 * more together: a variance below 2^-78 may then come out as 0.
 */
SBN_API int sbn_saved_stats(const sbn_saved *saved, float *mean, float *var, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
