/*
 * The part of one layer in a pass: its arguments, and working memory that the group keeps from pass
 * to pass. The differences between forward, backward and frozen passes are in its kind.
 */
#ifndef SBN_PASS_LAYER_PASS_H
#define SBN_PASS_LAYER_PASS_H

#include "collective/agreement.h"
#include "device/kernel_constants.h"
#include "device/launch_plan.h"
#include "layer/running.h"
#include "layer/saved.h"
#include "pass/workspace.h"

typedef struct sbn_layer_pass sbn_layer_pass;

typedef struct sbn_layer_pass_kind {
    const char *operation;
    uint32_t code;        /* SBN_CODE_..., its name for other ranks */
    unsigned needs;       /* of shards: src/pass/shard.h */
    int local;            /* combines nothing with other ranks */
    int fills;            /* 1: fills the saved statistics; 0: reads them */
    int has_backward;     /* ... for a backward pass, which may need a mask, or x from y */
    int tracks;           /* updates the running statistics */
    uint64_t least_count; /* values per channel below which the pass is an error */
    const sbn_format *(*format)(int format);
    /* Enqueues a replica's reduction. NULL: there is nothing to combine. */
    int (*reduce)(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica, int format,
                  const sbn_reduce_plan *plan, const sbn_wait *wait, cl_event *event);
    /*
     * Computes what step 3 needs from the group's accumulators: for all channels of the chunk in
     * the narrow format, for those of layer_pass->repeat in the wide one. In the narrow format it
     * fills layer_pass->repeat and returns whether any channel needs the wide format.
     */
    int (*finish)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk,
                  const sbn_accumulators *accumulators);
    /* Writes a combined chunk's table on the host; apply then enqueues step 3 for each replica. */
    void (*write_coefficients)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk);
    int (*apply)(sbn_layer_pass *layer_pass, const sbn_chunk *chunk, sbn_replica *replica);
    /* Enqueues all of it in one launch: src/pass/whole.h. NULL: never. */
    int (*whole)(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica, int format,
                 int tracks, sbn_wait *wait, cl_event *event);
    /* Enqueues the store of a replica's gradients when all chunks are applied. Or NULL. */
    int (*store)(sbn_layer_pass *layer_pass, sbn_replica *replica);
    /*
     * Keeps what outlives the pass, when all of it is combined, in the order passes began. Or NULL.
     */
    void (*commit)(sbn_layer_pass *layer_pass);
} sbn_layer_pass_kind;

/* Of two chunks one is reduced while the other is combined and applied. */
#define SBN_CHUNKS 2
#define SBN_COLUMNS 4

struct sbn_layer_pass {
    sbn_layer_pass *next; /* of the pass, in the order of the call; or idle */
    sbn_group *group;
    const sbn_layer_pass_kind *kind;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    unsigned flags;
    sbn_shard *shards;
    sbn_shape *shapes;
    cl_event *ready;       /* per replica: after the caller's wait list */
    cl_event *last;        /* per replica: the last command of step 3 */
    size_t chunk_channels; /* of a chunk: all of them, where there is one */
    sbn_chunk chunks[SBN_CHUNKS];
    sbn_call call;

    uint64_t own;   /* values per channel of this rank */
    uint64_t count; /* of all replicas and ranks that it is combined with */
    uint32_t place; /* of the layer among the calls that other ranks must make, too */
    int on_device;  /* the devices combine its accumulators, not the host */
    size_t whole; /* channels of a work-group that does the whole pass of them; 0: separate steps */
    int pending;  /* its accumulators are to be combined, or combined once more */
    size_t at;    /* where they stand among the words of the pass: src/pass/sums.h */
    sbn_result result;
    /*
     * What was enqueued last in its memory without waiting for it, for a sentence; NULL: nothing.
     */
    const char *enqueued;
    char enqueued_of[64];

    unsigned char *repeat;        /* per channel: to be redone wide */
    double *columns[SBN_COLUMNS]; /* per channel: each kind names its own */
    sbn_channel_table gradients;  /* backward: SBN_GRADIENT_ROWS */
    size_t channels_size;         /* for which there is room */
};

/*
 * Chooses the kind of a layer's call and checks the call without its shards. *status is already set
 * if the layer is not of this group. It must choose even after an error.
 */
typedef const sbn_layer_pass_kind *sbn__choose(sbn_branch *branch, int *status);

/* The chunk with this number of a prepared layer pass, ... */
sbn_chunk *sbn__chunk_at(sbn_layer_pass *layer_pass, size_t number);

/* ... which takes the place of the one SBN_CHUNKS before. */
void sbn__chunk_set(sbn_layer_pass *layer_pass, size_t number);

/* Fails if a replica's last command of step 3 has failed, which a later command would hide. */
int sbn__layer_pass_check_last(const sbn_layer_pass *layer_pass, const sbn_replica *replica);

/* Ends step 3 of a replica: gradients and the caller's event. */
int sbn__layer_pass_finish(sbn_layer_pass *layer_pass, sbn_replica *replica);

/* 1 if it is combined with other ranks; 1 if it is combined with other ranks or replicas. */
int sbn__layer_pass_is_joined(const sbn_layer_pass *layer_pass);
int sbn__layer_pass_has_peers(const sbn_layer_pass *layer_pass);

sbn_layer_pass *sbn__layer_pass_create(sbn_group *group);
void sbn__layer_pass_destroy(sbn_layer_pass *layer_pass);

/*
 * Chooses the kind, fills the call, and marks the saved statistics as used unless there is an
 * error.
 */
int sbn__layer_pass_open(sbn_layer_pass *layer_pass, sbn__choose *choose, const sbn_branch *branch);

/* Releases its layer and saved statistics; its memory is kept. */
void sbn__layer_pass_release(sbn_layer_pass *layer_pass);

/* Resets what is combined. */
void sbn__layer_pass_start(sbn_layer_pass *layer_pass);

/* Checks the shards and copies them; nothing but markers is enqueued. */
int sbn__layer_pass_prepare(sbn_layer_pass *layer_pass, const sbn_shard *shards);

#endif
