/*
 * A pass under way: reduce on the devices, combine over replicas and ranks,
 * then each layer pass's own apply. It has a layer pass for each layer of the call, and
 * one state for all of them. One state machine for all kinds; it waits in
 * sbn_pass_end and sbn__pass_run, and when it begins, for earlier uses of the
 * memory that it works with.
 *
 *   HEADER -> LOCAL -> SENT -> SETTLED      joined to other ranks
 *             LOCAL -> SETTLED              alone
 *   HEADER -> SETTLED                       in chunks
 *                 SENT -> LOCAL             once more, in the wide format: layer passes that need it
 *   HEADER, SENT -> EXPLAIN -> SETTLED      a disagreement or an error
 *
 * On each stream all ranks start the same requests in the same order: words
 * in the order the passes began; mismatch and wide words only for the
 * oldest pass that is not settled.
 */
#ifndef SBN_PASS_PASS_H
#define SBN_PASS_PASS_H

#include "pass/layer_pass.h"

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
    int format;                        /* of its pending layer passes */
    int error;                         /* this rank cannot go on: a status that the others learn */
    const sbn_layer_pass *culprit;     /* the layer pass with the error */
    int64_t *header, *sums, *mismatch; /* on the heap: a timeout abandons them */
    size_t sums_size, explanation_size;
    size_t sent;    /* words of the sums that other ranks add to */
    uint32_t place; /* of the layer that is being explained */
    void *request;  /* in flight in HEADER, SENT and EXPLAIN */
    int applied;    /* step 3 has been enqueued with the chunks */

    int status;
    char sentence[SBN_SENTENCE_SIZE];
};

/* The public begin of `count` layers. */
int sbn__pass_begin(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass);

/* The whole pass at once, where that pays chunk by chunk (src/pass/chunks.h). */
int sbn__pass_run(sbn__choose *choose, const sbn_branch *branches, size_t count,
                  sbn_result *results);

/* An idle pass of the group, or a new one, with `count` layer_passes. */
int sbn__pass_acquire(sbn_group *group, size_t count, sbn_pass **pass);

/* Takes the pass out of those under way, if it is one, and keeps its memory. */
void sbn__pass_release(sbn_pass *pass);

/* Frees the group's memory for passes. */
void sbn__passes_free(sbn_group *group);

/*
 * An error of this rank's own, in a layer pass: the first one is what the pass comes to, with the last
 * sentence. SBN_SUCCESS is none.
 */
void sbn__pass_error(sbn_pass *pass, const sbn_layer_pass *layer_pass, int status);

/* Does any layer pass combine with other ranks; are all of this rank alone, whatever the group? */
int sbn__pass_is_joined(const sbn_pass *pass);
int sbn__pass_is_local(const sbn_pass *pass);

#endif
