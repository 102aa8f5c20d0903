#include "parallel/overlap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "parallel/tensors.h"

/* In the order of the call: replica by replica. */
static int precedes(const sbn_extent *a, const sbn_extent *b)
{
    return a->replica != b->replica ? a->replica < b->replica : a->tensor < b->tensor;
}

static int by_place(const void *a, const void *b)
{
    const sbn_extent *left = a, *right = b;
    const uintptr_t left_mem = (uintptr_t)left->mem, right_mem = (uintptr_t)right->mem;
    if (left_mem != right_mem)
        return left_mem < right_mem ? -1 : 1;
    if (left->begin != right->begin)
        return left->begin < right->begin ? -1 : 1;
    return precedes(left, right) ? -1 : 1;
}

static size_t list_extents(const sbn_exchange *e, sbn_extent *list)
{
    size_t count = 0;
    for (size_t r = 0; r < e->parallel->replica_count; ++r) {
        const sbn_tensors its = sbn__tensors_at(e, r);
        for (size_t t = 0; t < e->tensors; ++t)
            if (e->counts[t] > 0)
                list[count++] = (sbn_extent){
                    .mem = its.buffers[t].mem,
                    .begin = its.buffers[t].offset,
                    .end = its.buffers[t].offset + e->counts[t],
                    .replica = r,
                    .tensor = t,
                    .written = e->averages || e->parallel->first + r != e->root,
                };
    }
    return count;
}

/* The one of the two that reaches further; `a` may be NULL or of another buffer. */
static const sbn_extent *further(const sbn_extent *a, const sbn_extent *b)
{
    return a && a->mem == b->mem && a->end > b->end ? a : b;
}

/*
 * In the order of their places a tensor overlaps an earlier one if it overlaps the one that reaches
 * furthest. Of several pairs the first in the order of the call is kept.
 */
static int find_overlap(const sbn_extent *list, size_t count, const sbn_extent **first,
                        const sbn_extent **second)
{
    const sbn_extent *any = NULL, *written = NULL;
    *first = *second = NULL;
    for (const sbn_extent *one = list; one < list + count; ++one) {
        const sbn_extent *other = one->written ? any : written;
        if (other && other->mem == one->mem && other->end > one->begin) {
            const sbn_extent *earlier = precedes(one, other) ? one : other;
            const sbn_extent *later = earlier == one ? other : one;
            if (!*second || precedes(later, *second) ||
                (later == *second && precedes(earlier, *first))) {
                *first = earlier;
                *second = later;
            }
        }
        any = further(any, one);
        if (one->written)
            written = further(written, one);
    }
    return *second != NULL;
}

int sbn__exchange_check_apart(const sbn_exchange *e, const char *who)
{
    const size_t most = e->parallel->replica_count * e->tensors;
    if (most < 2)
        return SBN_SUCCESS;
    sbn_data_parallel *parallel = e->parallel;
    if (parallel->extents_size < most) {
        sbn__free(parallel->extents);
        parallel->extents = sbn__allocate(sizeof *parallel->extents * most);
        parallel->extents_size = parallel->extents ? most : 0;
        if (!parallel->extents)
            return sbn__fail_memory("the tensors of an exchange");
    }
    sbn_extent *list = parallel->extents;
    const size_t count = list_extents(e, list);
    qsort(list, count, sizeof *list, by_place);
    const sbn_extent *first, *second;
    if (!find_overlap(list, count, &first, &second))
        return SBN_SUCCESS;
    char replica[40] = "";
    if (first->replica != second->replica)
        snprintf(replica, sizeof replica, " of replica %zu", first->replica);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: replica %zu: tensor %zu must not overlap tensor %zu%s in the same call",
                     who, second->replica, second->tensor, first->tensor, replica);
}
