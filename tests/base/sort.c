/*
 * The sort of keys from files (src/base/sort.h): the order is right, what belongs to a key moves
 * with it, and comparisons, which are counted, are at most 4 n log2 n, whatever the keys are.
 */
#include "base/sort.h"

#include <stdint.h>

#include "support/tap.h"

enum { MOST = 40000 };

typedef struct element {
    uint64_t key, rest[6]; /* the rest is the key again */
} element;

static element elements[MOST];
static long compared;

static int by_key(const void *context, const void *a, const void *b)
{
    const uint64_t one = ((const element *)a)->key, two = ((const element *)b)->key;
    ++compared;
    return context == elements ? (one > two) - (one < two) : 0;
}

static uint64_t any(size_t i)
{
    return (uint32_t)i * 2654435761u;
}

static uint64_t descending(size_t i)
{
    return MOST - i;
}

static uint64_t organ_pipe(size_t i)
{
    return i < MOST / 2 ? i : MOST - i;
}

static uint64_t three_keys(size_t i)
{
    return i % 3;
}

static long wrong_after_sort(size_t count)
{
    long wrong = 0;
    compared = 0;
    sbn__sort(elements, count, sizeof *elements, by_key, elements);
    for (size_t i = 0; i < count; ++i)
        wrong += (i > 0 && elements[i - 1].key > elements[i].key) ||
                 elements[i].rest[5] != elements[i].key;
    return wrong;
}

static void check(const char *what, uint64_t (*key)(size_t i), size_t count)
{
    long log2 = 1;
    uint64_t sum = 0, sorted = 0;
    while ((size_t)1 << log2 < count)
        ++log2;
    for (size_t i = 0; i < count; ++i) {
        elements[i].key = elements[i].rest[5] = key(i);
        sum += key(i);
    }
    const long wrong = wrong_after_sort(count), first = compared;
    for (size_t i = 0; i < count; ++i)
        sorted += elements[i].key;
    tap_ok(wrong == 0 && sorted == sum && first <= 4 * (long)count * log2,
           "%s, %zu of them: %ld are misplaced after %ld comparisons", what, count, wrong, first);
    const long again = wrong_after_sort(count);
    tap_ok(again == 0 && (!count || compared < (long)count), "%s, sorted already: %ld comparisons",
           what, compared);
}

int main(void)
{
    check("any keys", any, MOST);
    check("descending keys", descending, MOST);
    check("ascending and descending keys", organ_pipe, MOST);
    check("three keys", three_keys, MOST);
    check("descending keys", descending, 2);
    check("a key", descending, 1);
    check("no key", descending, 0);
    return tap_done();
}
