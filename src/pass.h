/*
 * A pass under way: reduce on the devices, combine over replicas and members,
 * then the kind's own apply. One state machine for all kinds; it never blocks
 * but in sbn_pass_end.
 *
 *   HEADER -> LOCAL -> SENT -> SETTLED      joined to other members
 *             LOCAL -> SETTLED              alone
 *                 SENT -> LOCAL             once more, in the wide window
 *   HEADER, SENT -> EXPLAIN -> SETTLED      a disagreement or an error
 *
 * On each stream all members start the same requests in the same order: words
 * in the order the passes began; explanations and wide words only for the
 * oldest pass that is not settled.
 */
#ifndef SBN_SRC_PASS_H
#define SBN_SRC_PASS_H

#include "agreement.h"
#include "batchnorm.h"

typedef enum sbn_stage {
    SBN_STAGE_HEADER,
    SBN_STAGE_LOCAL,
    SBN_STAGE_SENT,
    SBN_STAGE_EXPLAIN,
    SBN_STAGE_SETTLED
} sbn_stage;

/* What forward and backward do differently. */
typedef struct sbn_pass_kind {
    const char *operation;
    uint32_t code;        /* SBN_CODE_..., 0 for kinds that no header names */
    int local;            /* of this member alone, whatever the group */
    int fills;            /* its saved statistics, or reads them */
    uint64_t least_count; /* values per channel below which the pass is an error */
    const sbn_window *(*window)(int window);
    /* Enqueues a replica's reduction into `partial`. NULL: there is nothing to combine. */
    int (*reduce)(sbn_pass *pass, sbn_replica *replica, int window, const sbn_slices *slices,
                  const sbn_wait *wait, cl_event *event);
    /*
     * Takes the group's words: of all channels in the narrow window, of pass->repeat's in the
     * wide one. Narrow, it fills pass->repeat and returns whether there is any.
     */
    int (*take)(sbn_pass *pass, const sbn_words *words);
    /* All channels are known, in the order the passes began: keep what outlives the pass. */
    void (*commit)(sbn_pass *pass);
    /* What step 3 needs on the host, once; then enqueues it for each replica. */
    int (*fill)(sbn_pass *pass);
    int (*finish)(sbn_pass *pass, sbn_replica *replica);
} sbn_pass_kind;

/* A replica's working memory, kept from pass to pass. */
typedef struct sbn_work {
    sbn_device_buffer partial, words;
    sbn_staging host; /* the words as they come from the device */
    cl_event ready;   /* after the caller's wait list */
    cl_event read;    /* the words are on the host */
} sbn_work;

#define SBN_COLUMNS 4

struct sbn_pass {
    enum sbn_tag tag;
    sbn_pass *next_idle;
    sbn_group *group;
    const sbn_pass_kind *kind;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    unsigned flags;
    sbn_share *shares;
    sbn_geometry *geometries;
    sbn_work *work;

    sbn_stage stage;
    int window;
    sbn_call call;
    int local_error; /* a status: the device failed after the header was sent */
    int64_t *header, *sums, *explanation; /* on the heap: a timeout abandons them */
    size_t sums_size, explanation_size;
    void *request; /* in flight in HEADER, SENT and EXPLAIN */

    unsigned char *repeat;        /* per channel: to be redone wide */
    double *columns[SBN_COLUMNS]; /* per channel: each kind names its own */
    sbn_table gradients;          /* backward: gs, gs_low, ks, weight_grads, bias_grads */
    size_t channels_size;

    uint64_t count;
    sbn_result result;
    int status;
    char sentence[SBN_SENTENCE_SIZE];
};

/* The public begin, after checks of its own; `needs` as in share.h. */
int sbn_pass_begin(const sbn_pass_kind *kind, sbn_batchnorm *layer, const sbn_share *shares,
                   unsigned needs, sbn_saved *saved, unsigned flags, int status, sbn_pass **pass);
void sbn_pass_free(sbn_pass *pass);

/* Does the pass combine with other members? */
int sbn_pass_is_joined(const sbn_pass *pass);

/* NULL, or of the right size? */
int sbn_check_result(const sbn_result *result);

/* Gives the event to the caller, or drops it. */
void sbn_hand_over(const sbn_share *share, cl_event event);

#endif
