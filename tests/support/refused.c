#include "support/refused.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int refusal_status(const refusal *row)
{
    return row->status || !*row->words ? row->status : SBN_INVALID_ARGUMENT;
}

int refusal_is_odd(const refusal *row, int rank)
{
    const unsigned odd = row->odd ? row->odd : 1u << 1;
    return rank >= 0 && (odd >> rank & 1);
}

const refusal *refusal_apply(const refusal *row, int rank, void *arguments, char what[256])
{
    size_t length = 0;
    for (;; ++row) {
        if (refusal_is_odd(row, rank))
            memcpy((char *)arguments + row->at, (const char *)row->from + row->at, row->size);
        if (what && length < 256)
            length += (size_t)snprintf(what + length, 256 - length, "%s%s", length ? ", " : "",
                                       row->change);
        if (row->words)
            return row;
    }
}

void refuse(const char *name, int (*call)(const void *), const void *right, size_t size,
            uint64_t (*state)(void), const refusal *rows, size_t count)
{
    void *arguments = malloc(size);
    must(arguments ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    for (const refusal *row = rows; row < rows + count; ++row) {
        char changes[256], what[320];
        memcpy(arguments, right, size);
        row = refusal_apply(row, 1, arguments, changes);
        snprintf(what, sizeof what, "%s: %s", name, changes);
        const uint64_t before = state();
        expect(call(arguments), refusal_status(row), row->words, what);
        tap_ok(!*row->words || state() == before, "%s: nothing has changed", what);
    }
    expect(call(right), SBN_SUCCESS, "", name);
    free(arguments);
}
