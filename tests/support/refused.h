/* Refusals as tables: a row changes one argument of a right call, and has the status and the words of the refusal. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "support/fixture.h"

typedef struct refusal {
    const char *change; /* as it is written */
    size_t at, size;    /* of what it changes in the struct of arguments */
    const void *from;   /* such a struct, which has the value */
    const char *words;  /* as of expect; "": the call succeeds; NULL: the next row changes more */
    int status;         /* 0: SBN_INVALID_ARGUMENT, or SBN_SUCCESS */
    /* Of a call by several ranks: */
    const char *heard; /* by the others, with SBN_REMOTE_ERROR; "": success; NULL: as the odd one */
    unsigned odd;      /* which ranks' calls are changed, a bit for each; 0: that of rank 1 */
    int changes;       /* it comes too late for nothing to change */
} refusal;

/* A row: words, and what else there is. */
#define ROW_OF(type, field, value, ...) \
    { \
        .change = #field " = " #value, .at = offsetof(type, field), \
        .size = sizeof((type *)0)->field, .from = &(const type){.field = value}, \
        .words = __VA_ARGS__ \
    }

/* The same where a test calls the struct of its arguments `arguments`. */
#define ROW(field, value, ...) ROW_OF(arguments, field, value, __VA_ARGS__)

/* What the odd rank's status is. */
int refusal_status(const refusal *row);

/* Is a rank's call changed? No one's is whose number is -1. */
int refusal_is_odd(const refusal *row, int rank);

/*
 * Changes a rank's arguments by the rows from `row` on, to the last of them that belong together,
 * which is returned; `what`, or NULL, gets the changes in words. Rank -1 changes nothing.
 */
const refusal *refusal_apply(const refusal *row, int rank, void *arguments, char what[256]);

/* Makes the call once for each row, and then the right one. A refused call must leave `state` as it was. */
void refuse(const char *name, int (*call)(const void *arguments), const void *right, size_t size,
            uint64_t (*state)(void), const refusal *rows, size_t count);

#define REFUSE(name, call, right, state, rows) \
    refuse(name, call, &(right), sizeof(right), state, rows, sizeof(rows) / sizeof *(rows))

/* Calls that have no table: one that is refused, and one that is not. */
#define REFUSED(call, words) expect(call, SBN_INVALID_ARGUMENT, words, #call)
#define RIGHT(call) expect(call, SBN_SUCCESS, "", #call)
