/*
 * A batch normalisation layer: settings and running statistics.
 *
 *   y = activation((x - mean) / sqrt(var + eps) * weight + bias + residual)
 *
 * Mean and (biased) variance are per channel, over all samples and positions of the group. Ioffe &
 * Szegedy 2015, arXiv:1502.03167, algorithm 1. Where that paper leaves something open, the layer
 * behaves as PyTorch's BatchNorm. Weight and bias (gamma, beta) are your buffers on each device;
 * you pass them to each pass. The running statistics are the layer's, or buffers of yours, too
 * (sbn_shard).
 */
#ifndef SYNCBN_BATCHNORM_H
#define SYNCBN_BATCHNORM_H

#include <syncbn/group.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_batchnorm sbn_batchnorm;

/* How eps keeps the variance away from 0. */
typedef enum sbn_eps_mode {
    SBN_EPS_ADD = 0,  /* 1 / sqrt(var + eps) */
    SBN_EPS_CLAMP = 1 /* 1 / sqrt(max(var, eps)); no gradient through a clamped variance */
} sbn_eps_mode;

/* How the running statistics average the batches. */
typedef enum sbn_average {
    SBN_AVERAGE_MOMENTUM = 0,  /* running += momentum * (batch - running) */
    SBN_AVERAGE_CUMULATIVE = 1 /* the plain mean of all batches: PyTorch's momentum=None */
} sbn_average;

/*
 * The function that a pass applies last, to z: the result of batch norm, plus the residual. NaN
 * passes through. A result of 0 is +0; a negative one that rounds to 0 in the layer's type is -0.
 */
typedef enum sbn_activation {
    SBN_IDENTITY = 0,  /* z */
    SBN_RELU = 1,      /* z <= 0 ? 0 : z; gradient 0 where z <= 0 */
    SBN_LEAKY_RELU = 2 /* z > 0 ? z : slope z; gradient slope where not z > 0 */
} sbn_activation;

/* The settings of a layer. All ranks give the same, except `layout` and `dimensions`. */
typedef struct sbn_batchnorm_config {
    size_t size; /* sizeof(sbn_batchnorm_config) */
    /* For error sentences alone; checkpoints use that of sbn_model_add. NULL: "batchnorm" */
    const char *name;
    size_t channels;   /* 1 to 2^31 - 1 */
    sbn_layout layout; /* of x, y, dy, dx and the residual: channels first or last */
    /*
     * >= 0 and finite. With 0, y and dx of a channel of variance 0 are NaN, in training and in
     * evaluation; with 2^-256 or less, NaN or Inf. (With 0, PyTorch evaluates such a channel to
     * +-Inf where x is not the mean, and has refused it in training since 2.15.) With 0, y and dx
     * are also inaccurate or NaN where the standard deviation is below about 2^-64: squares of
     * floats underflow (doc/order.md).
     */
    double eps;
    sbn_eps_mode eps_mode;   /* eps is added to the variance, or is its least value */
    double momentum;         /* weight of the new batch in the running statistics, 0 ... 1 */
    sbn_average average;     /* by momentum, or the plain mean of all batches */
    int affine;              /* 1: weight and bias are read and have gradients */
    int track_running_stats; /* 0: evaluation uses batch statistics, and synchronises */
    /* Accepted shapes: 1 (N,C) and (N,C,L), 2 (N,C,H,W), 3 (N,C,D,H,W); 0: all of them. */
    int dimensions;
    /* Of x, y, dy, dx and the residual. Weight, bias, gradients and statistics are floats. */
    sbn_type type;
    sbn_activation activation; /* applied in the same pass */
    double slope;              /* of SBN_LEAKY_RELU: finite as a float, to which it is rounded */
    int residual;              /* 1: the shards' residual is added before the activation */
    /*
     * 1: sbn_backward reads y instead of x, so that sbn_forward may write y over x in training.
     * Neither with a residual nor with SBN_RELU; a slope of 2^-14 to 2^14. Rounding costs accuracy,
     * and small weights are refused: see doc/from-output.md.
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
 * Makes a layer of the group: running mean 0, running variance 1, no batches tracked. Does not
 * communicate: ranks with different settings learn it in the first pass.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes; *layer is then NULL.
 */
SBN_API int sbn_batchnorm_create(sbn_group *group, const sbn_batchnorm_config *config,
                                 sbn_batchnorm **layer);

/*
 * Ends a layer. Waits for the commands that use its tables.
 *
 * Errors. SBN_INVALID_ARGUMENT, while passes of the layer are under way and while saved statistics
 * or models need it; it then stays as it was.
 */
SBN_API int sbn_batchnorm_destroy(sbn_batchnorm *layer);

/* Copies out the settings that the layer was made with; `name` is the layer's own. */
SBN_API int sbn_batchnorm_settings(const sbn_batchnorm *layer, sbn_batchnorm_config *config);

/* The group that the layer belongs to. */
SBN_API sbn_group *sbn_batchnorm_group(const sbn_batchnorm *layer);

/*
 * Training (1, as after create) or evaluation (0): PyTorch's train() and eval().
 *
 * In evaluation sbn_forward normalises with the running statistics and does not change them,
 * sbn_backward takes them for constants, and neither needs other ranks. A layer without running
 * statistics uses those of the batch in both. sbn_evaluate needs no switch. All ranks switch
 * between the same passes.
 *
 * Errors. SBN_INVALID_ARGUMENT, while passes of the layer are under way, if it changes.
 */
SBN_API int sbn_batchnorm_set_training(sbn_batchnorm *layer, int training);

/*
 * Is the layer in training?
 *
 * Return value. 1 in training, 0 in evaluation.
 */
SBN_API int sbn_batchnorm_is_training(const sbn_batchnorm *layer);

/*
 * Freezes the layer (1) or releases it (0). A frozen layer behaves as in evaluation, whatever
 * sbn_batchnorm_set_training says. Weight and bias are still trained if you give sbn_backward
 * buffers for their gradients.
 *
 * Errors. SBN_INVALID_ARGUMENT, while passes of the layer are under way, if it changes.
 */
SBN_API int sbn_batchnorm_set_frozen(sbn_batchnorm *layer, int frozen);

/*
 * Is the layer frozen?
 *
 * Return value. 1 if it is, else 0.
 */
SBN_API int sbn_batchnorm_is_frozen(const sbn_batchnorm *layer);

/*
 * Moves the layer to another group: from a group of one replica to one over all of them (PyTorch's
 * convert_sync_batchnorm), for example, or back. Does not communicate. Settings, running
 * statistics, training and frozen stay. The layer's saved statistics move with it and are empty
 * afterwards. The former group may then be destroyed.
 *
 * Errors. SBN_INVALID_ARGUMENT, while passes of the layer are under way; SBN_OUT_OF_MEMORY,
 * OpenCL's codes. The layer is then where it was.
 */
SBN_API int sbn_batchnorm_set_group(sbn_batchnorm *layer, sbn_group *group);

/*
 * Copies out the running statistics: `mean` and `var` receive `channels` floats each; any pointer
 * may be NULL. They include every forward pass that has ended, and may include those under way. In
 * a device-combined group this waits for them. The variance is the unbiased one, n / (n - 1) times
 * the variance that normalised, as in PyTorch.
 *
 * Errors. SBN_INVALID_ARGUMENT: the layer has none. In a device-combined group also the failure of
 * an earlier pass.
 */
SBN_API int sbn_batchnorm_running_stats(const sbn_batchnorm *layer, float *mean, float *var,
                                        int64_t *num_batches_tracked);

/*
 * Sets the running statistics; a NULL leaves its part unchanged. The values of mean and variance
 * are not checked. End the layer's forward passes first: one under way may count before or after.
 *
 * Errors. SBN_INVALID_ARGUMENT: the layer has none, or the count is negative. In a device-combined
 * group also the failure of an earlier pass.
 */
SBN_API int sbn_batchnorm_set_running_stats(sbn_batchnorm *layer, const float *mean,
                                            const float *var, const int64_t *num_batches_tracked);

/* Sets mean 0, variance 1, no batches tracked. Errors as of sbn_batchnorm_set_running_stats. */
SBN_API int sbn_batchnorm_reset_running_stats(sbn_batchnorm *layer);

/*
 * Saved statistics: what a forward pass in training keeps for its backward pass. They hold the
 * group's mean, variance and count, and the shapes. For a layer with a residual and an activation
 * they also hold a mask on each device, of where the activation passes the gradient: one bit for
 * each element, in the GPU form two.
 *
 * Each forward pass whose backward pass is still to come needs one of its own: a layer that is used
 * twice, a GAN's two passes, or micro-batches need several. A later forward pass may fill it again.
 * Any number of backward passes and recomputations may read it.
 */
typedef struct sbn_saved sbn_saved;

/*
 * Makes empty saved statistics of a layer.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes; *saved is then NULL.
 */
SBN_API int sbn_saved_create(sbn_batchnorm *layer, sbn_saved **saved);

/*
 * Ends saved statistics. Waits for the commands that use them.
 *
 * Errors. SBN_INVALID_ARGUMENT, while a pass uses them; they then stay as they were.
 */
SBN_API int sbn_saved_destroy(sbn_saved *saved);

/*
 * Copies out the statistics that normalised: the mean and the biased variance, `channels` floats
 * each, and the number of values per channel over the whole group; any pointer may be NULL. In a
 * device-combined group this waits for the forward pass, unless only the count is asked for.
 * doc/order.md says how exact they are.
 *
 * Errors. SBN_INVALID_ARGUMENT, before the first forward pass, while one that fills them is under
 * way, and after the layer has moved to another group. In a device-combined group also the failure
 * of the pass.
 */
SBN_API int sbn_saved_stats(const sbn_saved *saved, float *mean, float *var, uint64_t *count);

/* The version of what sbn_saved_store writes. No other one is read. */
#define SBN_SAVED_VERSION 2

/* Where it writes which forward pass it was, and how many bytes. */
#define SBN_SAVED_PASS 64
#define SBN_SAVED_PASS_SIZE 8

/*
 * Writes all that saved statistics hold to `memory`, which has `room` bytes, so that sbn_saved_load
 * can fill others from it: in place of a handle that must live from forward to backward, in another
 * process, or later. *size receives the bytes: 88, 40 for each replica, 24 for each channel, and
 * the masks. With memory NULL that is all; it does not wait then, and else as sbn_saved_stats.
 *
 * The bytes have the order of this machine and the shapes of this rank's replicas; they are not
 * meant to be kept beyond a version of the library. They hold which forward pass it was: ranks
 * that load those of different passes disagree in the backward pass. For equal bytes of equal passes
 * set the SBN_SAVED_PASS_SIZE bytes from SBN_SAVED_PASS on to 0, on all ranks. (Masks may differ in
 * bits of no element.)
 *
 * Errors. SBN_INVALID_ARGUMENT: it is not filled, or there is too little room, which writes
 * nothing. Those of sbn_saved_stats; SBN_OUT_OF_MEMORY, OpenCL's codes.
 */
SBN_API int sbn_saved_store(const sbn_saved *saved, void *memory, size_t room, size_t *size);

/*
 * Fills saved statistics from the `size` bytes that sbn_saved_store has written, of a layer with the
 * same channels, layout, type, eps, eps_mode, activation, slope (if the activation has one), residual,
 * from_output and number of replicas; with a residual and an activation also of the same form of
 * kernels. The backward pass then gives the same bits. Waits for passes that read what they held
 * before.
 *
 * Errors. SBN_INVALID_ARGUMENT: the bytes are another version's or another layer's, or not all of
 * them, or a pass uses `saved`; it then stays as it was. SBN_OUT_OF_MEMORY, OpenCL's codes: it may
 * be empty then.
 */
SBN_API int sbn_saved_load(sbn_saved *saved, const void *memory, size_t size);

#ifdef __cplusplus
}
#endif

#endif
