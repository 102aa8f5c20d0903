#include "tensor/overlap.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"

int sbn__claims_start(sbn_claims *claims, size_t most)
{
    claims->count = 0;
    if (claims->room >= most)
        return SBN_SUCCESS;
    sbn__free(claims->list);
    claims->list = sbn__allocate(sizeof *claims->list * most);
    claims->room = claims->list ? most : 0;
    return claims->list ? SBN_SUCCESS : sbn__fail_memory("the buffers of a call");
}

void sbn__claims_add(sbn_claims *claims, const sbn_claim *whose, const sbn_use *uses, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (!uses[i].buffer.mem)
            continue;
        sbn_claim *claim = &claims->list[claims->count];
        *claim = *whose;
        claim->use = uses[i];
        claim->order = claims->count++;
    }
}

void sbn__claims_add_shards(const sbn_batchnorm *layer, size_t branch, const sbn_shard *shards,
                            const sbn_shape *shapes, unsigned needs, unsigned flags,
                            const char *operation)
{
    sbn_group *group = layer->group;
    needs = sbn__needs_of(layer, needs);
    const unsigned tensors = needs & ~(unsigned)SBN_MAY_GRADIENTS;
    for (size_t r = 0; r < group->replica_count; ++r) {
        const sbn_shard shard = sbn__shard_at(shards, r);
        const sbn_replica *replica = &group->replicas[r];
        /* Copies of the same memory, one for each layer, do not add up. */
        const int copied = shard.memory == SBN_MEMORY_HOST &&
                           replica->host_memory == SBN_HOST_MEMORY_COPIED;
        sbn_claim whose = {.operation = operation,
                           .layer = layer->name,
                           .branch = branch,
                           .replica = r};
        sbn_use uses[SBN_MAX_USES];
        const size_t gradients = sbn__list_uses(uses, &shard, &shapes[r], tensors, layer->affine);
        const size_t count = sbn__list_uses(uses, &shard, &shapes[r], needs, layer->affine);
        sbn__claims_add(&group->claims, &whose, uses, gradients);
        whose.gradient = 1;
        whose.adds = flags & SBN_ACCUMULATE_GRADIENTS && replica->in_order && !copied;
        sbn__claims_add(&group->claims, &whose, uses + gradients, count - gradients);
    }
}

static int by_place(const void *a, const void *b)
{
    const uintptr_t left = (uintptr_t)sbn__use_space(&((const sbn_claim *)a)->use);
    const uintptr_t right = (uintptr_t)sbn__use_space(&((const sbn_claim *)b)->use);
    if (left != right)
        return left < right ? -1 : 1;
    const size_t left_begin = sbn__use_begin(&((const sbn_claim *)a)->use);
    const size_t right_begin = sbn__use_begin(&((const sbn_claim *)b)->use);
    return (left_begin > right_begin) - (left_begin < right_begin);
}

/* 1 if two buffers that overlap, of which one is written, may do so. */
static int may_meet(const sbn_claim *a, const sbn_claim *b)
{
    const sbn_claim *later = a->order < b->order ? b : a;
    return a->gradient && b->gradient && a->branch != b->branch && a->replica == b->replica &&
           later->adds;
}

/* Keeps the pair that is the first in the order of the call: by its later, then by its earlier one. */
static void keep_first(const sbn_claim *a, const sbn_claim *b, const sbn_claim **earlier,
                       const sbn_claim **later)
{
    const sbn_claim *first = a->order < b->order ? a : b, *second = first == a ? b : a;
    if (*later &&
        (second->order > (*later)->order || (second == *later && first->order > (*earlier)->order)))
        return;
    *earlier = first;
    *later = second;
}

/*
 * Claims are sorted by their place. A written one is compared with the following ones that begin before its end, and
 * with earlier reads, if the one that ends last reaches it. (Not with that one alone: views may interleave with it.)
 */
int sbn__claims_find(const sbn_claims *claims, const sbn_claim **earlier, const sbn_claim **later)
{
    sbn_claim *const list = claims->list;
    const sbn_claim *const end = list + claims->count, *reader = NULL;
    qsort(list, claims->count, sizeof *list, by_place);
    *earlier = *later = NULL;
    for (const sbn_claim *one = list; one < end; ++one) {
        if (!one->use.written) {
            if (!reader || sbn__use_space(&reader->use) != sbn__use_space(&one->use) ||
                sbn__use_end(&reader->use) <= sbn__use_end(&one->use))
                reader = one;
            continue;
        }
        if (reader && sbn__uses_meet(&reader->use, &one->use))
            for (const sbn_claim *other = list; other < one; ++other)
                if (!other->use.written && sbn__uses_overlap(&other->use, &one->use))
                    keep_first(other, one, earlier, later);
        for (const sbn_claim *next = one + 1; next < end && sbn__uses_meet(&one->use, &next->use);
             ++next)
            if (sbn__uses_overlap(&one->use, &next->use) && !may_meet(one, next))
                keep_first(one, next, earlier, later);
    }
    return *later != NULL;
}

int sbn__claims_check(const sbn_group *group, size_t *branch)
{
    const sbn_claim *earlier, *later;
    char layer[80] = "", replica[40] = "";
    if (!sbn__claims_find(&group->claims, &earlier, &later))
        return SBN_SUCCESS;
    *branch = later->branch;
    if (later->branch != earlier->branch)
        snprintf(layer, sizeof layer, " of layer \"%.48s\"", earlier->layer);
    if (later->replica != earlier->replica)
        snprintf(replica, sizeof replica, " of replica %zu", earlier->replica);
    return sbn__fail(
        SBN_INVALID_ARGUMENT,
        "%s of layer \"%.48s\", rank %d, replica %zu: %s must not overlap %s%s%s in the "
        "same call%s",
        later->operation, later->layer, sbn_group_rank(group), later->replica, later->use.name,
        earlier->use.name, replica, layer, sbn__overlap_note(&earlier->use, &later->use));
}

int sbn__check_apart(const sbn_batchnorm *layer, const sbn_shard *shards, const sbn_shape *shapes,
                     unsigned needs, const char *operation)
{
    sbn_group *group = layer->group;
    size_t branch;
    if (group->replica_count < 2)
        return SBN_SUCCESS;
    const int status = sbn__claims_start(&group->claims, group->replica_count * SBN_MAX_USES);
    if (status)
        return status;
    sbn__claims_add_shards(layer, 0, shards, shapes, needs, 0, operation);
    return sbn__claims_check(group, &branch);
}
