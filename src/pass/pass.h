/*
 * A pass: reduce on the devices, combine over replicas and ranks, apply. All kinds use one state
 * machine (src/pass/progress.h).
 */
#pragma once

#include "collective/request.h"
#include "pass/sums.h"

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

    int at_once; /* the caller ends it before it does anything else */
    sbn_stage stage;
    int wide;                      /* its wide accumulators are combined, too */
    int one_request;               /* the sums travel behind the header */
    void (*start)(sbn_pass *pass); /* enqueues step 1, of src/pass/start.h */
    int error;                     /* this rank's error, which the others are told */
    const sbn_layer_pass *culprit; /* the layer pass with the error */
    sbn_request header, sums, mismatch;
    size_t sent;    /* words of the sums that other ranks add to */
    uint32_t place; /* of the layer that the current mismatch explains */

    int status;
    char sentence[SBN_SENTENCE_SIZE];
};

/*
 * Keeps an error of this rank in a layer pass, with the last sentence, unless the pass has one
 * already. Ignores SBN_SUCCESS.
 */
void sbn__pass_error(sbn_pass *pass, const sbn_layer_pass *lp, int status);

/* 1 if any layer pass is combined with other ranks; 1 if all are of kinds that never are. */
int sbn__pass_is_joined(const sbn_pass *pass);
int sbn__pass_is_local(const sbn_pass *pass);

/* Settles a pass. An error keeps the last sentence, except that an error of this rank itself has priority. */
void sbn__pass_settle(sbn_pass *pass, int status);

/*
 * Checks the counts of values: 0 if there are too few, and the pass is settled. Layer passes
 * without values have nothing to combine.
 */
int sbn__pass_accept_counts(sbn_pass *pass);

/* 1 if anything is left to combine. */
int sbn__pass_has_pending(const sbn_pass *pass);

/* This rank's call for a mismatch: of the layer pass with the error, or the one in pass->place. */
sbn_call sbn__pass_call(const sbn_pass *pass);

/* "forward of layer "first" and 2 more" */
void sbn__pass_name(const sbn_pass *pass, char *out, size_t size);
