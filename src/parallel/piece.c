#include "parallel/piece.h"

#include "parallel/average.h"

/* How much of a tensor fits: all of the rest, or as many complete blocks as there is room for. */
static size_t fitting(size_t left, size_t room)
{
    return left <= room ? left : room / SBN_AVERAGE_BLOCK * SBN_AVERAGE_BLOCK;
}

int sbn__next_piece(const sbn_bucket *bucket, sbn_piece *p)
{
    const size_t *counts = bucket->exchange->counts;
    if (p->count == 0) {
        p->tensor = bucket->tensor;
        p->first = bucket->first;
    } else {
        p->at += p->count;
        ++p->tensor;
        p->first = 0;
    }
    if (p->at == bucket->floats)
        return 0;
    while (counts[p->tensor] == p->first) {
        ++p->tensor;
        p->first = 0;
    }
    p->count = fitting(counts[p->tensor] - p->first, bucket->floats - p->at);
    return 1;
}

static size_t blocks_in(size_t floats)
{
    return floats / SBN_AVERAGE_BLOCK + (floats % SBN_AVERAGE_BLOCK != 0);
}

void sbn__bucket_cut(sbn_bucket *bucket, sbn_exchange *e)
{
    const size_t limit = e->parallel->bucket_floats;
    *bucket = (sbn_bucket){
        .exchange = e,
        .tensor = e->tensor,
        .first = e->first,
        .host = bucket->host,
        .copied = bucket->copied,
        .levels = bucket->levels,
        .sums = bucket->sums,
    };
    while (e->tensor < e->tensors) {
        const size_t left = e->counts[e->tensor] - e->first;
        const size_t part = fitting(left, limit - bucket->floats);
        bucket->floats += part;
        bucket->blocks += blocks_in(part);
        e->first += part;
        if (part < left)
            break;
        ++e->tensor;
        e->first = 0;
    }
}

int sbn__next_block(const sbn_bucket *bucket, const int64_t *levels, sbn_piece *p, sbn_block *b)
{
    b->at += b->count;
    b->range = b->count > 0 ? b->range + SBN_RANGE_WORDS : levels;
    if (b->at == p->at + p->count && !sbn__next_piece(bucket, p))
        return 0;
    const size_t left = p->at + p->count - b->at;
    b->count = left < SBN_AVERAGE_BLOCK ? left : SBN_AVERAGE_BLOCK;
    return 1;
}
