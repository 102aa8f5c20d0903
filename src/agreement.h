/*
 * Do all members make the same call? Each pass begins with a header of fixed
 * size, added over the members: whether any reports an error, and for every
 * small field f both f and f^2. All members' fields are equal if and only if
 * P sum f^2 = (sum f)^2, so every member judges alike, from the sums alone. The
 * fields are the call's number, how many words it is to send, and a digest of
 * its layers. Only when they differ does a slot for each rank name who did
 * what: of the first layer, then of the next, until they differ.
 */
#ifndef SBN_SRC_AGREEMENT_H
#define SBN_SRC_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

/* What a member is about to do with a layer. */
typedef struct sbn_call {
    const char *operation; /* "forward"; of static life */
    const char *name;      /* of the layer */
    uint32_t number;       /* calls of this group before */
    uint32_t code;         /* SBN_CODE_... */
    uint32_t settings;     /* a digest of the layer's settings and the call's flags */
    uint32_t channels;     /* 0: the call has no such layer */
    uint32_t saved;        /* which forward a backward belongs to */
    int error;             /* this member cannot take part: its status */
} sbn_call;

/* The operations' codes; src/agreement.c names them. */
enum {
    SBN_CODE_FORWARD = 1,
    SBN_CODE_BACKWARD,
    SBN_CODE_EVALUATION,
    SBN_CODE_FROZEN_BACKWARD,
    SBN_CODE_SPLIT
};

#define SBN_HEADER_FIELDS 8
#define SBN_HEADER_WORDS (1 + 2 * SBN_HEADER_FIELDS)

/* Of all of a call but its number and error: src/digest.h. */
uint64_t sbn_call_digest(uint64_t digest, const sbn_call *call);

void sbn_header_fill(int64_t *header, int error, uint32_t number, uint32_t words, uint64_t digest);

/* From the sums: does nobody report an error, and do all agree? */
int sbn_header_agrees(const int64_t *header, int world_size);

/* A slot for each rank: words in all, and this rank's slot in zeroed words. */
size_t sbn_explanation_words(int world_size);
void sbn_explanation_fill(int64_t *words, int rank, const sbn_call *call);

/* From the sums: do all ranks call the same layer without an error, so that a later one differs? */
int sbn_explanation_goes_on(const int64_t *words, int world_size);

/*
 * The sentence about the layers in one `place` of the call, from 0 on, and the
 * status that this rank returns: its own error where it reported one,
 * SBN_REMOTE_ERROR where another did, else SBN_DISAGREEMENT.
 */
int sbn_explanation_read(const int64_t *words, size_t place, int rank, int world_size,
                         char *sentence, size_t size);

#endif
