#include "model/radix_sort.h"

#include <string.h>

/* Shorter ranges are sorted by comparison. */
enum { FEW = 24, VALUES = 257 };

typedef struct sort {
    char *elements;
    size_t size;
    const sbn_sort_order *order;
} sort;

static char *at(const sort *s, size_t i)
{
    return s->elements + i * s->size;
}

static int byte_of(const sort *s, size_t i, size_t depth)
{
    return s->order->byte(s->order->context, at(s, i), depth);
}

static int compare(const sort *s, const void *a, const void *b)
{
    return s->order->compare(s->order->context, a, b);
}

static void swap(const sort *s, size_t i, size_t j)
{
    char held[SBN_SORT_SIZE];
    memcpy(held, at(s, i), s->size);
    memcpy(at(s, i), at(s, j), s->size);
    memcpy(at(s, j), held, s->size);
}

static void sort_few(const sort *s, size_t begin, size_t end)
{
    char held[SBN_SORT_SIZE];
    for (size_t i = begin + 1; i < end; ++i) {
        size_t to = i;
        memcpy(held, at(s, i), s->size);
        while (to > begin && compare(s, at(s, to - 1), held) > 0)
            --to;
        memmove(at(s, to + 1), at(s, to), (i - to) * s->size);
        memcpy(at(s, to), held, s->size);
    }
}

/* 1 if all elements have the same byte. */
static int is_shared(const sort *s, size_t begin, size_t end, size_t depth)
{
    const int first = byte_of(s, begin, depth);
    for (size_t i = begin + 1; i < end; ++i)
        if (byte_of(s, i, depth) != first)
            return 0;
    return first != 0;
}

/* Groups elements by their byte and returns where each group ends. */
static void spread(const sort *s, size_t begin, size_t end, size_t depth, size_t ends[VALUES])
{
    size_t next[VALUES], place = begin;
    memset(ends, 0, sizeof *ends * VALUES);
    for (size_t i = begin; i < end; ++i)
        ++ends[byte_of(s, i, depth)];
    for (int value = 0; value < VALUES; ++value) {
        next[value] = place;
        place += ends[value];
        ends[value] = place;
    }
    for (int value = 0; value < VALUES; ++value)
        while (next[value] < ends[value]) {
            const int found = byte_of(s, next[value], depth);
            if (found == value)
                ++next[value];
            else
                swap(s, next[value], next[found]++);
        }
}

/*
 * Recurses into at most half of the elements each time, so that the depth is at most the bits of
 * count.
 */
static void sort_from(const sort *s, size_t begin, size_t end, size_t depth)
{
    while (end - begin > FEW) {
        size_t ends[VALUES], largest_begin = begin, largest_end = begin;
        while (is_shared(s, begin, end, depth))
            ++depth;
        spread(s, begin, end, depth, ends);
        /* Keys that end here are equal and come first. */
        for (int value = 1; value < VALUES; ++value)
            if (ends[value] - ends[value - 1] > largest_end - largest_begin) {
                largest_begin = ends[value - 1];
                largest_end = ends[value];
            }
        ++depth;
        for (int value = 1; value < VALUES; ++value)
            if (ends[value - 1] != largest_begin && ends[value] - ends[value - 1] > 1)
                sort_from(s, ends[value - 1], ends[value], depth);
        begin = largest_begin;
        end = largest_end;
    }
    sort_few(s, begin, end);
}

void sbn__radix_sort(void *elements, size_t count, size_t size, const sbn_sort_order *order)
{
    const sort s = {elements, size, order};
    size_t sorted = 1;
    while (sorted < count && compare(&s, at(&s, sorted - 1), at(&s, sorted)) <= 0)
        ++sorted;
    if (sorted < count)
        sort_from(&s, 0, count, 0);
}
