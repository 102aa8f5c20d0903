/*
 * Do all members make the same call? Each pass begins with a header of fixed
 * size, added over the members. For every small field f it carries f and f^2:
 * all members' fields are equal if and only if P sum f^2 = (sum f)^2, so every
 * member judges alike, from the sums alone. Only when they differ does a
 * second reduction, with a slot for each rank, name who did what.
 */
#ifndef SBN_SRC_AGREEMENT_H
#define SBN_SRC_AGREEMENT_H

#include <stddef.h>
#include <stdint.h>

/* What a member is about to do. */
typedef struct sbn_call {
    const char *operation; /* "forward"; of static life */
    const char *name;      /* of the layer */
    uint32_t number;       /* passes of this group before */
    uint32_t code;         /* SBN_CODE_... */
    uint32_t settings;     /* a digest of the layer's settings and the call's flags */
    uint32_t channels;
    uint32_t saved; /* which forward a backward belongs to */
    uint64_t count; /* values per channel of this member */
    int error;      /* this member cannot take part: its status */
} sbn_call;

/* The operations' codes; src/agreement.c names them. */
enum {
    SBN_CODE_FORWARD = 1,
    SBN_CODE_BACKWARD,
    SBN_CODE_EVALUATION,
    SBN_CODE_FROZEN_BACKWARD,
    SBN_CODE_SPLIT
};

#define SBN_HEADER_FIELDS 11
#define SBN_HEADER_WORDS (2 + 2 * SBN_HEADER_FIELDS)

/* FNV-1a over bytes, for names and settings. */
uint32_t sbn_digest(uint32_t digest, const void *bytes, size_t size);
#define SBN_DIGEST_START 2166136261u

void sbn_header_fill(int64_t *header, const sbn_call *call);

/* From the sums: values per channel over all members; does nobody report an error, and do all agree? */
uint64_t sbn_header_count(const int64_t *header);
int sbn_header_agrees(const int64_t *header, int world_size);

/* The second reduction: words in all, and this rank's slot in zeroed words. */
size_t sbn_explanation_words(int world_size);
void sbn_explanation_fill(int64_t *words, int rank, const sbn_call *call);

/*
 * The sentence, and the status that this rank returns: its own error where it
 * reported one, SBN_REMOTE_ERROR where another did, else SBN_DISAGREEMENT.
 */
int sbn_explanation_read(const int64_t *words, int rank, int world_size, char *sentence,
                         size_t size);

#endif
