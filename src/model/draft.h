/*
 * A file that appears at once and whole: what is written goes to a draft in the same folder, which
 * only this user may read, and which takes the file's name at the end.
 */
#ifndef SBN_MODEL_DRAFT_H
#define SBN_MODEL_DRAFT_H

#include <stddef.h>
#include <sys/types.h>

typedef struct sbn_draft {
    int file;
    int folder;       /* of the draft and of the file */
    char *path;       /* the file's, links followed; its last part begins at `name` */
    const char *name; /* in the folder */
    char draft[40];   /* the draft's name there; "" as long as there is none */
    int replaces;     /* a file of this owner and group; `mode` is its, or the one for a new file */
    uid_t owner;
    gid_t group;
    mode_t mode;
} sbn_draft;

/* Close it in any case. */
int sbn__draft_open(sbn_draft *d, const char *path);

int sbn__draft_write(const sbn_draft *d, const void *from, size_t size);

/* With SBN_SUCCESS the draft becomes the file, else it goes. Returns that status or another. */
int sbn__draft_close(sbn_draft *d, int status);

#endif
