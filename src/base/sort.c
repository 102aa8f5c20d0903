/* Heapsort. */
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
static void sink(const sorting *s, size_t at, size_t count)
{
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        below += below + 1 < count && compare(s, below, below + 1) < 0;
        if (compare(s, at, below) >= 0)
            return;
        swap(s, at, below);
    }
}

void sbn__sort(void *elements, size_t count, size_t size, sbn_compare_fn *compare_elements,
               const void *context)
{
    const sorting s = {elements, size, compare_elements, context};
    size_t sorted = 1;
    while (sorted < count && compare(&s, sorted - 1, sorted) <= 0)
        ++sorted;
    if (sorted >= count)
        return;
    for (size_t at = count; at-- > 0;)
        sink(&s, at, count);
    for (size_t end = count; --end > 0;) {
        swap(&s, 0, end);
        sink(&s, 0, end);
    }
}
