/*
 * One layer's part of a pass: what the call gave, and the layer's own working
 * memory, which the group keeps from pass to pass. What forward, backward and
 * the frozen passes do differently is a kind of part.
 */
#ifndef SBN_SRC_PART_H
#define SBN_SRC_PART_H

#include "agreement.h"
#include "batchnorm.h"

typedef struct sbn_part sbn_part;
typedef struct sbn_piece sbn_piece;

typedef struct sbn_part_kind {
    const char *operation;
    uint32_t code;        /* SBN_CODE_..., which names it to other members */
    unsigned needs;       /* of shares: src/share.h */
    int local;            /* of this member alone, whatever the group */
    int fills;            /* its saved statistics, or reads them */
    uint64_t least_count; /* values per channel below which the pass is an error */
    const sbn_window *(*window)(int window);
    /* Enqueues a replica's reduction into `partial`. NULL: there is nothing to combine. */
    int (*reduce)(sbn_part *part, sbn_piece *piece, sbn_replica *replica, int window,
                  const sbn_slices *slices, const sbn_wait *wait, cl_event *event);
    /*
     * Takes the group's words: of all the piece's channels in the narrow window, of part->repeat's
     * in the wide one. Narrow, it fills part->repeat and returns whether there is any.
     */
    int (*take)(sbn_part *part, const sbn_piece *piece, const sbn_words *words);
    /* What step 3 needs on the host, once taken; then enqueues it for each replica. */
    void (*fill)(sbn_part *part, const sbn_piece *piece);
    int (*apply)(sbn_part *part, const sbn_piece *piece, sbn_replica *replica);
    /* Hands a replica's gradients to the caller, when all pieces are applied. Or NULL. */
    int (*store)(sbn_part *part, sbn_replica *replica);
    /* All of the pass is known, in the order the passes began: keep what outlives it. Or NULL. */
    void (*commit)(sbn_part *part);
} sbn_part_kind;

/* A replica's working memory. */
typedef struct sbn_work {
    sbn_device_buffer partial, words;
    sbn_staging host; /* the words as they come from the device */
    cl_event read;    /* they are on the host */
} sbn_work;

/* Channels that are reduced, combined and applied together: all of them, or some (src/pieces.h). */
struct sbn_piece {
    size_t first, channels;
    sbn_geometry *geometries; /* per replica */
    sbn_work *work;           /* per replica */
};

/* Of two pieces one is reduced while the other is combined and applied. */
#define SBN_PIECES 2
#define SBN_COLUMNS 4

/* The rows of part->gradients: what dx needs, then weight_grad and bias_grad. */
enum { SBN_ROW_G, SBN_ROW_G_LOW, SBN_ROW_K, SBN_ROW_WEIGHT, SBN_ROW_BIAS, SBN_ROWS };

struct sbn_part {
    sbn_part *next; /* of the pass, in the order of the call; or idle */
    sbn_group *group;
    const sbn_part_kind *kind;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    unsigned flags;
    sbn_share *shares;
    sbn_geometry *geometries;
    cl_event *ready; /* per replica: after the caller's wait list */
    cl_event *last;  /* per replica: the last command of step 3 */
    sbn_piece pieces[SBN_PIECES];
    sbn_call call;

    uint64_t own;   /* values per channel of this member */
    uint64_t count; /* of all that the part combines with */
    uint32_t place; /* of the layer among those that the others must agree to */
    int pending;    /* its words are to be combined, or combined once more */
    size_t at;      /* where they stand in the sums of the pass: src/reduce.c */
    sbn_result result;

    unsigned char *repeat;        /* per channel: to be redone wide */
    double *columns[SBN_COLUMNS]; /* per channel: each kind names its own */
    sbn_table gradients;          /* backward */
    size_t channels_size;         /* for which there is room */
};

/*
 * Checks a layer's call as far as it can without its shares, and says which kind it is. It comes
 * with *status set where the layer is none of this group's; with an error it has to guess.
 */
typedef const sbn_part_kind *sbn_choose(sbn_branch *branch, int *status);

/* Makes a piece of some channels of a prepared part. */
void sbn_piece_set(const sbn_part *part, sbn_piece *piece, size_t first, size_t channels);

/* Blocks until its words are on the host, or will never be. */
void sbn_piece_wait(const sbn_part *part, const sbn_piece *piece);

/* Has a replica's last command of step 3 failed, so that one behind it must not hide that? */
int sbn_part_check_last(const sbn_part *part, const sbn_replica *replica);

/* Step 3 of a replica ends: gradients and the caller's event. */
int sbn_part_finish(sbn_part *part, sbn_replica *replica);

/* Does the part combine with other members? */
int sbn_part_is_joined(const sbn_part *part);

/* `count` parts, of the idle ones or new; all or none. */
int sbn_parts_acquire(sbn_group *group, size_t count, sbn_part **parts);

/* Their saved statistics are free again; the parts' memory is kept. */
void sbn_parts_release(sbn_part *parts);

void sbn_parts_free(sbn_part *parts);

/* Chooses the kind, names the call, and holds the saved statistics unless there is an error. */
int sbn_part_open(sbn_part *part, sbn_choose *choose, const sbn_branch *branch);

/* Nothing is combined yet. */
void sbn_part_start(sbn_part *part);

/* Checks the shares and copies them; nothing but markers is enqueued. */
int sbn_part_prepare(sbn_part *part, const sbn_share *shares);

/* May two prepared parts belong to one pass? */
int sbn_part_check_apart(const sbn_part *part, const sbn_part *other);

#endif
