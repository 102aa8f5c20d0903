/*
 * One layer's layer pass of a pass: what the call gave, and the layer's own working
 * memory, which the group keeps from pass to pass. What forward, backward and
 * the frozen passes do differently is a kind of part.
 */
#ifndef SBN_PASS_LAYER_PASS_H
#define SBN_PASS_LAYER_PASS_H

#include "collective/agreement.h"
#include "layer/batchnorm.h"

typedef struct sbn_layer_pass sbn_layer_pass;
typedef struct sbn_chunk sbn_chunk;

typedef struct sbn_layer_pass_kind {
    const char *operation;
    uint32_t code;        /* SBN_CODE_..., which names it to other ranks */
    unsigned needs;       /* of shards: src/pass/shard.h */
    int local;            /* of this rank alone, whatever the group */
    int fills;            /* its saved statistics, or reads them */
    uint64_t least_count; /* values per channel below which the pass is an error */
    const sbn_format *(*format)(int format);
    /* Enqueues a replica's reduction into `partial`. NULL: there is nothing to combine. */
    int (*reduce)(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica, int format,
                  const sbn_slices *slices, const sbn_wait *wait, cl_event *event);
    /*
     * Takes the group's words: of all the chunk's channels in the narrow format, of layer_pass->repeat's
     * in the wide one. Narrow, it fills layer_pass->repeat and returns whether there is any.
     */
    int (*take)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, const sbn_accumulators *words);
    /* What step 3 needs on the host, once taken; then enqueues it for each replica. */
    void (*fill)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk);
    int (*apply)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, sbn_replica *replica);
    /* Hands a replica's gradients to the caller, when all chunks are applied. Or NULL. */
    int (*store)(sbn_layer_pass *layer_pass, sbn_replica *replica);
    /* All of the pass is known, in the order the passes began: keep what outlives it. Or NULL. */
    void (*commit)(sbn_layer_pass *layer_pass);
} sbn_layer_pass_kind;

/* A replica's working memory. */
typedef struct sbn_work {
    sbn_device_buffer partial, words;
    sbn_staging host; /* the words as they come from the device */
    cl_event read;    /* they are on the host */
} sbn_work;

/* Channels that are reduced, combined and applied together: all of them, or some (src/pass/chunks.h). */
struct sbn_chunk {
    size_t first, channels;
    sbn_geometry *geometries; /* per replica */
    sbn_work *work;           /* per replica */
};

/* Of two chunks one is reduced while the other is combined and applied. */
#define SBN_CHUNKS 2
#define SBN_COLUMNS 4

/* The rows of layer_pass->gradients: what dx needs, then weight_grad and bias_grad. */
enum { SBN_ROW_G, SBN_ROW_G_LOW, SBN_ROW_K, SBN_ROW_WEIGHT, SBN_ROW_BIAS, SBN_ROWS };

struct sbn_layer_pass {
    sbn_layer_pass *next; /* of the pass, in the order of the call; or idle */
    sbn_group *group;
    const sbn_layer_pass_kind *kind;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    unsigned flags;
    sbn_shard *shards;
    sbn_geometry *geometries;
    cl_event *ready; /* per replica: after the caller's wait list */
    cl_event *last;  /* per replica: the last command of step 3 */
    sbn_chunk chunks[SBN_CHUNKS];
    sbn_call call;

    uint64_t own;   /* values per channel of this rank */
    uint64_t count; /* of all that the layer pass combines with */
    uint32_t place; /* of the layer among those that the others must agree to */
    int pending;    /* its words are to be combined, or combined once more */
    size_t at;      /* where they stand in the sums of the pass: src/pass/reduce.c */
    sbn_result result;

    unsigned char *repeat;        /* per channel: to be redone wide */
    double *columns[SBN_COLUMNS]; /* per channel: each kind names its own */
    sbn_channel_table gradients;  /* backward */
    size_t channels_size;         /* for which there is room */
};

/*
 * Checks a layer's call as far as it can without its shards, and says which kind it is. It comes
 * with *status set where the layer is none of this group's; with an error it has to guess.
 */
typedef const sbn_layer_pass_kind *sbn__choose(sbn_branch *branch, int *status);

/* Makes a chunk of some channels of a prepared part. */
void sbn__chunk_set(const sbn_layer_pass *layer_pass, sbn_chunk *chunk, size_t first,
                    size_t channels);

/* Blocks until its words are on the host, or will never be. */
void sbn__chunk_wait(const sbn_layer_pass *layer_pass, const sbn_chunk *chunk);

/* Has a replica's last command of step 3 failed, so that one behind it must not hide that? */
int sbn__layer_pass_check_last(const sbn_layer_pass *layer_pass, const sbn_replica *replica);

/* Step 3 of a replica ends: gradients and the caller's event. */
int sbn__layer_pass_finish(sbn_layer_pass *layer_pass, sbn_replica *replica);

/* Does the layer pass combine with other ranks? */
int sbn__layer_pass_is_joined(const sbn_layer_pass *layer_pass);

/* `count` layer passes, of the idle ones or new; all or none. */
int sbn__layer_passes_acquire(sbn_group *group, size_t count, sbn_layer_pass **layer_passes);

/* Their saved statistics are free again; the layer passes' memory is kept. */
void sbn__layer_passes_release(sbn_layer_pass *layer_passes);

void sbn__layer_passes_free(sbn_layer_pass *layer_passes);

/* Chooses the kind, names the call, and holds the saved statistics unless there is an error. */
int sbn__layer_pass_open(sbn_layer_pass *layer_pass, sbn__choose *choose, const sbn_branch *branch);

/* Nothing is combined yet. */
void sbn__layer_pass_start(sbn_layer_pass *layer_pass);

/* Checks the shards and copies them; nothing but markers is enqueued. */
int sbn__layer_pass_prepare(sbn_layer_pass *layer_pass, const sbn_shard *shards);

#endif
