/*
 * The passes of a group: those under way, in the order they began, and ended ones, kept for their
 * memory.
 */
#ifndef SBN_PASS_POOL_H
#define SBN_PASS_POOL_H

#include "collective/request.h"
#include "pass/layer_pass.h"
#include "pass/sums.h"

/* Where a pass is in the state machine of src/pass/combine.h. */
typedef enum sbn_stage {
    SBN_STAGE_HEADER,
    SBN_STAGE_LOCAL,
    SBN_STAGE_SENT,
    SBN_STAGE_MISMATCH,
    SBN_STAGE_SETTLED
} sbn_stage;

struct sbn_pass {
    sbn_object object;
    sbn_pass *next_idle;
    sbn_group *group;
    sbn_layer_pass *layer_passes; /* NULL: ended */

    sbn_stage stage;
    int format;                    /* of its pending layer passes */
    int on_device;                 /* the devices combine whatever is to be combined */
    int error;                     /* this rank's error, which the others are told */
    const sbn_layer_pass *culprit; /* the layer pass with the error */
    sbn_request header, sums, mismatch;
    size_t sent;    /* words of the sums that other ranks add to */
    uint32_t place; /* of the layer that the current mismatch explains */

    int status;
    char sentence[SBN_SENTENCE_SIZE];
};

typedef struct sbn_pass_pool {
    sbn_pass *under_way[SBN_MAX_PASSES];
    size_t count; /* of passes under way; also group->passes_under_way */
    sbn_pass *idle;
    sbn_layer_pass *idle_layer_passes;
    struct sbn_claim *claims; /* room for the buffers of a call: src/pass/overlap.h */
    size_t claims_size;
} sbn_pass_pool;

/* Makes the group's pool, unless it has one. */
int sbn__passes_open(sbn_group *group);

/* An idle pass of the group, or a new one, with `count` layer passes. */
int sbn__pass_acquire(sbn_group *group, size_t count, sbn_pass **pass);

/* Appends the pass to those under way. */
void sbn__pass_enter(sbn_pass *pass);

/* Removes the pass from those under way, if it is one, and keeps its memory. */
void sbn__pass_release(sbn_pass *pass);

/* Frees the group's memory for passes. */
void sbn__passes_free(sbn_group *group);

/*
 * Keeps an error of this rank in a layer pass, with the last sentence, unless the pass has one
 * already. Ignores SBN_SUCCESS.
 */
void sbn__pass_error(sbn_pass *pass, const sbn_layer_pass *layer_pass, int status);

/* 1 if any layer pass is combined with other ranks; 1 if all are of kinds that never are. */
int sbn__pass_is_joined(const sbn_pass *pass);
int sbn__pass_is_local(const sbn_pass *pass);

/* The accumulators to be combined next. */
sbn_sums sbn__pass_sums(const sbn_pass *pass);

#endif
