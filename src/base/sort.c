/* Quicksort; heapsort sorts what bad pivots leave after 2 log2 n of them. */
#include "base/sort.h"

#include <string.h>

typedef struct sorting {
    char *elements;
    size_t size;
    sbn_compare_fn *compare;
    const void *context;
} sorting;

static int compare(const sorting *s, size_t a, size_t b)
{
    return s->compare(s->context, s->elements + a * s->size, s->elements + b * s->size);
}

static void swap(const sorting *s, size_t a, size_t b)
{
    char held[SBN_SORT_SIZE], *first = s->elements + a * s->size;
    char *second = s->elements + b * s->size;
    memcpy(held, first, s->size);
    memmove(first, second, s->size);
    memcpy(second, held, s->size);
}

/* Moves an element of a heap down until neither of the two below it is larger. */
static void sink(const sorting *s, size_t begin, size_t at, size_t count)
{
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        below += below + 1 < count && compare(s, begin + below, begin + below + 1) < 0;
        if (compare(s, begin + at, begin + below) >= 0)
            return;
        swap(s, begin + at, begin + below);
    }
}

static void sort_by_heap(const sorting *s, size_t begin, size_t count)
{
    for (size_t at = count / 2; at-- > 0;)
        sink(s, begin, at, count);
    for (size_t end = count; end-- > 1;) {
        swap(s, begin, begin + end);
        sink(s, begin, 0, end);
    }
}

static void sort_range(const sorting *s, size_t begin, size_t end, int pivots)
{
    while (end - begin > 1 && pivots-- > 0) {
        size_t middle = begin;
        swap(s, begin, begin + (end - begin) / 2);
        for (size_t i = begin + 1; i < end; ++i)
            if (compare(s, i, begin) < 0)
                swap(s, ++middle, i);
        swap(s, begin, middle);
        sort_range(s, begin, middle, pivots);
        begin = middle + 1;
    }
    if (end > begin)
        sort_by_heap(s, begin, end - begin);
}

void sbn__sort(void *elements, size_t count, size_t size, sbn_compare_fn *compare_elements,
               const void *context)
{
    const sorting s = {elements, size, compare_elements, context};
    size_t sorted = 1;
    int pivots = 0;
    while (sorted < count && compare(&s, sorted - 1, sorted) <= 0)
        ++sorted;
    for (size_t left = count; left > 1; left /= 2)
        pivots += 2;
    if (sorted < count)
        sort_range(&s, 0, count, pivots);
}
