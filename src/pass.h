/*
 * A pass under way: reduce on the devices, combine over replicas and members,
 * then each part's own apply. It has a part for each layer of the call, and
 * one state for all of them. One state machine for all kinds; it waits in
 * sbn_pass_end and sbn_pass_run, and when it begins, for earlier uses of the
 * memory that it works with.
 *
 *   HEADER -> LOCAL -> SENT -> SETTLED      joined to other members
 *             LOCAL -> SETTLED              alone
 *   HEADER -> SETTLED                       in pieces
 *                 SENT -> LOCAL             once more, in the wide window: parts that need it
 *   HEADER, SENT -> EXPLAIN -> SETTLED      a disagreement or an error
 *
 * On each stream all members start the same requests in the same order: words
 * in the order the passes began; explanations and wide words only for the
 * oldest pass that is not settled.
 */
#ifndef SBN_SRC_PASS_H
#define SBN_SRC_PASS_H

#include "part.h"

typedef enum sbn_stage {
    SBN_STAGE_HEADER,
    SBN_STAGE_LOCAL,
    SBN_STAGE_SENT,
    SBN_STAGE_EXPLAIN,
    SBN_STAGE_SETTLED
} sbn_stage;

struct sbn_pass {
    enum sbn_tag tag;
    sbn_pass *next_idle;
    sbn_group *group;
    sbn_part *parts; /* NULL: ended */

    sbn_stage stage;
    int window;              /* of its pending parts */
    int error;               /* this member cannot go on: a status that the others learn */
    const sbn_part *culprit; /* the part with the error */
    int64_t *header, *sums, *explanation; /* on the heap: a timeout abandons them */
    size_t sums_size, explanation_size;
    size_t sent;    /* words of the sums that other members add to */
    uint32_t place; /* of the layer that is being explained */
    void *request;  /* in flight in HEADER, SENT and EXPLAIN */
    int applied;    /* step 3 has been enqueued with the pieces */

    int status;
    char sentence[SBN_SENTENCE_SIZE];
};

/* The public begin of `count` layers. */
int sbn_pass_begin(sbn_choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass);

/* The whole pass at once, where that pays piece by piece (src/pieces.h). */
int sbn_pass_run(sbn_choose *choose, const sbn_branch *branches, size_t count, sbn_result *results);

/* An idle pass of the group, or a new one, with `count` parts. */
int sbn_pass_acquire(sbn_group *group, size_t count, sbn_pass **pass);

/* Takes the pass out of those under way, if it is one, and keeps its memory. */
void sbn_pass_release(sbn_pass *pass);

/* Frees the group's memory for passes. */
void sbn_passes_free(sbn_group *group);

/*
 * An error of this member's own, in a part: the first one is what the pass comes to, with the last
 * sentence. SBN_SUCCESS is none.
 */
void sbn_pass_error(sbn_pass *pass, const sbn_part *part, int status);

/* Does any part combine with other members; are all of this member alone, whatever the group? */
int sbn_pass_is_joined(const sbn_pass *pass);
int sbn_pass_is_local(const sbn_pass *pass);

#endif
