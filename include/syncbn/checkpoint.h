/*
 * Checkpoints: safetensors files with the keys of PyTorch's state dict. A layer that sbn_model_add
 * named "features.1" has the tensors
 *
 *   features.1.weight               if affine
 *   features.1.bias                 if affine
 *   features.1.running_mean         if it has running statistics
 *   features.1.running_var
 *   features.1.num_batches_tracked  I64, a scalar or one element; a strict load takes 0 if it is
 *                                   missing, as in version 1 of PyTorch's BatchNorm
 *
 * of `channels` elements, in F32, F16 or BF16. A file may hold a whole network: its other tensors
 * are not touched.
 *
 * A file is not trusted: its header is checked in full before anything is read by it. Names are
 * kept as they are in the file; sentences and the command show "?" for characters that control a
 * terminal or the direction of writing. doc/checkpoints.md has the details.
 */
#ifndef SYNCBN_CHECKPOINT_H
#define SYNCBN_CHECKPOINT_H

#include <syncbn/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why a key of a file does not fit a model. */
typedef enum sbn_key_problem {
    SBN_KEY_MISSING = 0,    /* the model has it, the file has not */
    SBN_KEY_UNEXPECTED = 1, /* the file has it for a layer, the model has not */
    SBN_KEY_WRONG_SHAPE = 2 /* the tensor has another shape, or a wrong type */
} sbn_key_problem;

/* Called for every key that does not fit. `key` and `sentence` are valid during the call. */
typedef void (*sbn_key_report_fn)(void *context, sbn_key_problem problem, const char *key,
                                  const char *sentence);

/* How a checkpoint is loaded. */
typedef struct sbn_load_config {
    size_t size; /* sizeof(sbn_load_config) */
    int strict;  /* 1: missing and unexpected keys are errors; wrong shapes always are */
    sbn_key_report_fn report; /* called whether strict or not; NULL: none */
    void *context;            /* passed to `report` */
} sbn_load_config;

/* Strict, no report. */
#define SBN_LOAD_CONFIG_INIT \
    { \
        sizeof(sbn_load_config), 1, NULL, NULL \
    }

/* Writes SBN_LOAD_CONFIG_INIT to a struct of `size` bytes. */
SBN_API int sbn_load_config_init(sbn_load_config *config, size_t size);

/*
 * Reads weight, bias and running statistics of all layers from a file. Blocks as
 * sbn_model_set_parameters does.
 *
 * Weight and bias go to every replica of this process. Over MPI every rank loads; the call does not
 * communicate. `config` NULL: the defaults. A key is unexpected if it lies directly under a layer's
 * name, or belongs to a layer with running statistics that the model does not have. If not strict,
 * what the file lacks stays as it is.
 *
 * Errors. SBN_IO_ERROR, SBN_INVALID_FILE, SBN_KEY_MISMATCH: the model is as it was, because
 * everything is read and checked before anything changes. SBN_INVALID_ARGUMENT: among others an
 * affine layer whose buffers the model does not know. SBN_OUT_OF_MEMORY, OpenCL's codes.
 */
SBN_API int sbn_model_load(sbn_model *model, const char *path, const sbn_load_config *config);

/*
 * Writes weight, bias and running statistics of all layers to a file. Blocks as
 * sbn_model_parameters does, and until the file is on the disk. In a job one rank saves: all ranks
 * hold the same values.
 *
 * All other tensors, and the metadata, are copied from the file `base`, byte for byte. `base` may
 * be `path` itself, or NULL for a file of the layers alone. Tensors that `base` has keep their type
 * there, new ones are F32.
 *
 * The file appears at once and whole: it is written under another name in the same folder,
 * "syncbn-...tmp", synced and renamed, and then the folder is synced.
 *
 * It gets the owner, the group and the permissions of the file that it replaces, as far as this
 * process may give them. A symbolic link is followed. doc/checkpoints.md has the details.
 *
 * Errors. SBN_KEY_MISMATCH: a layer's tensor of `base` has another shape or a wrong type, or a
 * finite value is too large for it. SBN_IO_ERROR: among others `path` is a link to nothing, or no regular file.
 * SBN_INVALID_FILE, SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY, OpenCL's codes. `path` is then as it
 * was, unless the sentence says that it is new: its folder could not be synced, and a crash may
 * bring back what was there.
 */
SBN_API int sbn_model_save(const sbn_model *model, const char *path, const char *base);

/* A file on its own, without a model: its layers with running statistics. Needs no device. */
typedef struct sbn_checkpoint sbn_checkpoint;

/* What a file says of a layer. */
typedef struct sbn_layer_info {
    size_t size;      /* sizeof(sbn_layer_info) */
    const char *name; /* the checkpoint's own */
    size_t channels;  /* elements of running_mean */
    const char *type; /* of running_mean, as in the file: "F32" */
    int affine;       /* 1: there is a weight or a bias */
    int tracked;      /* 1: there is a num_batches_tracked */
    int has_weight;   /* 1: there is a weight */
    int has_bias;     /* 1: there is a bias */
} sbn_layer_info;

#define SBN_LAYER_INFO_INIT \
    { \
        sizeof(sbn_layer_info), NULL, 0, NULL, 0, 0, 0, 0 \
    }

/*
 * Opens a file; it stays open.
 *
 * Errors. SBN_IO_ERROR, SBN_INVALID_FILE, SBN_OUT_OF_MEMORY; *checkpoint is then NULL.
 */
SBN_API int sbn_checkpoint_create(const char *path, sbn_checkpoint **checkpoint);

/* Closes the file. */
SBN_API int sbn_checkpoint_destroy(sbn_checkpoint *checkpoint);

/* How many layers the file holds. */
SBN_API size_t sbn_checkpoint_size(const sbn_checkpoint *checkpoint);

/*
 * Describes a layer, 0 <= `index` < sbn_checkpoint_size. Layers are sorted by name, numbers within
 * names by their value.
 */
SBN_API int sbn_checkpoint_layer(const sbn_checkpoint *checkpoint, size_t index,
                                 sbn_layer_info *layer);

/*
 * Reads a layer: `channels` floats each; any pointer may be NULL. Without a weight in the file it
 * is 1, without a bias 0, without a num_batches_tracked 0.
 *
 * Errors. SBN_KEY_MISMATCH: a tensor's shape or type is not that of the layer. SBN_INVALID_FILE:
 * the file has become shorter. SBN_IO_ERROR, SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY.
 */
SBN_API int sbn_checkpoint_read(const sbn_checkpoint *checkpoint, size_t index, float *weight,
                                float *bias, float *mean, float *var, int64_t *num_batches_tracked);

#ifdef __cplusplus
}
#endif

#endif
