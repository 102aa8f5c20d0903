/*
 * Checkpoints: safetensors files with the keys of PyTorch's state dict. A layer named
 * "features.1" has the tensors
 *
 *   features.1.weight               if affine
 *   features.1.bias                 if affine
 *   features.1.running_mean         if it has running statistics
 *   features.1.running_var
 *   features.1.num_batches_tracked  I64; missing in version 1 of PyTorch's BatchNorm:
 *                                   0 then
 *
 * of `channels` elements (num_batches_tracked: a scalar, or one element), in F32, F16 or
 * BF16. A file may hold a whole network: its other tensors are not touched.
 *
 * A file is not trusted. Its header is checked in full before anything is read by
 * it; what does not hold is SBN_INVALID_FILE:
 *
 *   at most 100 MB of JSON in UTF-8, beginning with {, padded behind with spaces alone;
 *   no key twice, no NUL in a string, metadata of strings alone;
 *   each tensor with dtype, shape and data_offsets, and nothing else;
 *   sizes that fit shapes and types, no gap, no overlap, nothing behind the last tensor.
 *
 * Reading a header takes at most twice its size and some KB of memory, whatever it
 * says, and a time that grows with its size; the list of layers, where one is asked
 * for, comes on top. Names are kept as they are in the file: sentences,
 * and the command, show "?" for control characters and for those that change the
 * direction of writing; a program that prints names by itself should do the same.
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

/*
 * Called for every key that does not fit. `key` and `sentence` are valid during the
 * call.
 */
typedef void (*sbn_key_report_fn)(void *context, sbn_key_problem problem, const char *key,
                                  const char *sentence);

/* How a checkpoint is loaded. */
typedef struct sbn_load_config {
    size_t size; /* sizeof(sbn_load_config) */
    int strict;  /* 1: missing and unexpected keys are errors; wrong shapes always are */
    sbn_key_report_fn report; /* called whether strict or not; may be NULL */
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
 * Weight and bias go to every replica's device. `config` NULL: the defaults. A key is
 * unexpected if it lies directly under a layer's name, or belongs to a layer with
 * running statistics that the model does not have. Everything is read and checked
 * before anything changes: after SBN_IO_ERROR, SBN_INVALID_FILE or SBN_KEY_MISMATCH the
 * model is as it was. If not strict, what is missing in the file stays as it is.
 * SBN_INVALID_ARGUMENT for an affine layer whose buffers the model does not know.
 */
SBN_API int sbn_model_load(sbn_model *model, const char *path, const sbn_load_config *config);

/*
 * Writes weight, bias and running statistics of all layers to a file. Blocks as
 * sbn_model_parameters does, and until the file is on the disk.
 *
 * Every other tensor, and the metadata, are copied from the file `base`, byte for byte;
 * `base` may be `path` itself, or NULL for a file of the layers alone. Tensors that
 * `base` has keep their type there, new ones are F32. A finite value that is too large
 * for its type is SBN_KEY_MISMATCH, and so is a layer's tensor of another shape.
 *
 * The file appears at once and whole: it is written under another name in the same
 * folder, "syncbn-...tmp", synced and renamed, and then the folder is synced. After an
 * error `path` is as it was, unless the sentence says that it is new: then its folder
 * could not be synced, and a crash may bring back what was there.
 *
 * Until it is complete, only its owner may read it. Then it gets the owner, the group
 * and the permissions (the bits of 0777) of the file that it replaces, or those of any
 * new file (0666 less the umask). If this process may not give the owner away, the
 * owner is this process's user; if it may not give the group, the new group and all
 * others may do what both the old group and all others could. Access control lists and
 * extended attributes are not kept.
 *
 * A symbolic link is followed: the file that it names is replaced, and the link stays.
 * A link to nothing is SBN_IO_ERROR, and so is a name that cannot be followed or asked
 * about (too many links, a folder without permission), or that is not a regular file's.
 * A link that is put in the file's place while it is written is replaced.
 *
 * In a job one rank saves; all ranks of a group hold the same values.
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
} sbn_layer_info;

#define SBN_LAYER_INFO_INIT \
    { \
        sizeof(sbn_layer_info), NULL, 0, NULL, 0, 0 \
    }

/* Opens a file; it stays open. Errors: SBN_IO_ERROR, SBN_INVALID_FILE, SBN_OUT_OF_MEMORY. */
SBN_API int sbn_checkpoint_create(const char *path, sbn_checkpoint **checkpoint);

/* Closes the file. */
SBN_API int sbn_checkpoint_destroy(sbn_checkpoint *checkpoint);

/* How many layers the file holds. */
SBN_API size_t sbn_checkpoint_size(const sbn_checkpoint *checkpoint);

/*
 * Describes a layer, 0 <= `index` < sbn_checkpoint_size. Layers are sorted by name,
 * numbers within names by their value.
 */
SBN_API int sbn_checkpoint_layer(const sbn_checkpoint *checkpoint, size_t index,
                                 sbn_layer_info *layer);

/*
 * Reads a layer: `channels` floats each; any pointer may be NULL. Without a weight in the
 * file it is 1, without a bias 0, without a num_batches_tracked 0. SBN_KEY_MISMATCH if
 * a tensor's shape or type is not that of the layer.
 */
SBN_API int sbn_checkpoint_read(const sbn_checkpoint *checkpoint, size_t index, float *weight,
                                float *bias, float *mean, float *var, int64_t *num_batches_tracked);

#ifdef __cplusplus
}
#endif

#endif
