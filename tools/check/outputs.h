/*
 * What a problem's passes left, read back into global logical order
 * (geometry.h), each with a digest of its bits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum output_id {
    OUT_MEAN, /* of sbn_saved, `channels` values */
    OUT_VAR,
    OUT_Y,     /* global logical order, as the four below */
    OUT_AGAIN, /* y from sbn_recompute */
    OUT_EVAL,  /* y from sbn_evaluate */
    OUT_DX,
    OUT_RESIDUAL_GRAD,
    OUT_WEIGHT_GRAD, /* replica by replica, `channels` values each */
    OUT_BIAS_GRAD,
    OUT_RUNNING_MEAN, /* after all passes, `channels` values */
    OUT_RUNNING_VAR,
    OUTPUTS
} output_id;

typedef struct output {
    float *data; /* NULL: the problem does not ask for it */
    size_t count;
    uint64_t digest;
} output;

typedef struct outputs {
    output of[OUTPUTS];
    uint64_t count; /* sbn_saved's values per channel */
    int64_t batches;
    int wide; /* a pass needed the wide format; -1: not known, devices have decided */
    /*
     * What the activation is given: y of the batch norm as floats, the residual added. NULL: nothing
     * follows the batch norm, or nothing was normalised. No result: the judgement needs it.
     */
    float *preactivation;
    /* Of floats with nothing behind the batch norm, for the same dy behind the activation; or NULL. */
    struct outputs *apart;
} outputs;

/* "mean", "y", ...: indexed by output_id. */
extern const char *const output_names[OUTPUTS];

/* Allocates one output, zeroed. Returns SBN_SUCCESS or SBN_OUT_OF_MEMORY. */
int output_make(outputs *out, output_id id, size_t count);
void outputs_free(outputs *out);

/*
 * 64-bit FNV-1a over the bits of the floats, low byte first, every NaN counted
 * as the same one: payloads differ between vendors.
 */
uint64_t digest_floats(const float *data, size_t count);

/* Fills in every output's digest. Gradients that all replicas share count once. */
void outputs_digest(outputs *out, int global_gradients, size_t channels);
