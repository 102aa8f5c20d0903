#include "support/refused_ranks.h"

#include <limits.h>
#include <stdlib.h>

#include "base/memory.h"

/* The call and the row that the ranks' threads work on. */
static const ranks_call *made;
static const refusal *changed;

static int call_wrongly(test_rank *m)
{
    void *arguments = calloc(1, made->size);
    must(arguments ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    made->reset(m);
    if (made->right)
        made->right(m, arguments);
    refusal_apply(changed, m->rank, arguments, NULL);
    const uint64_t before = made->state(m);
    made->call(m, arguments);
    m->digest = made->state(m) == before;
    free(arguments);
    return m->status;
}

static int call_and_go_on(test_rank *m)
{
    call_wrongly(m);
    made->reset(m);
    return made->go_on(m);
}

/*
 * Handles of this process that are left open each time. The hub may keep another block when ranks run
 * apart as never before: that is no leak, and does not come back.
 */
static long handles_left(test_ranks *all)
{
    long least = LONG_MAX;
    for (int i = 0; i < 3; ++i) {
        const long before = sbn__handles_open();
        ranks_do(all, call_and_go_on);
        const long more = sbn__handles_open() - before;
        least = more < least ? more : least;
    }
    return least;
}

void ranks_expect(const test_ranks *all, int own, const char *own_words, int others,
                  const char *words, const char *what)
{
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], rank == ODD_RANK ? own : others,
                    rank == ODD_RANK ? own_words : words, what);
}

void ranks_refuse(test_ranks *all, const ranks_call *call, const refusal *rows, size_t count)
{
    made = call;
    for (const refusal *row = rows; row < rows + count; ++row) {
        char what[256];
        changed = row;
        row = refusal_apply(row, -1, NULL, what);
        ranks_do(all, call_wrongly);
        for (int rank = 0; rank < all->count; ++rank) {
            const int own = !row->heard || refusal_is_odd(row, rank);
            const int others = row->heard && *row->heard ? SBN_REMOTE_ERROR : SBN_SUCCESS;
            rank_expect(&all->of[rank], own ? refusal_status(row) : others,
                        own ? row->words : row->heard, what);
            tap_ok(all->of[rank].digest == 1 || row->changes, "%s: rank %d: nothing has changed",
                   what, rank);
        }
        if (!call->go_on)
            continue;
        const long left = handles_left(all);
        ranks_expect(all, SBN_SUCCESS, "", SBN_SUCCESS, "", "the groups go on");
        tap_ok(left == 0, "%s: %ld handles are left", what, left);
    }
}
