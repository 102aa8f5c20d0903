/*
 * Sorts in place by bytes, for keys that come from a file: the time grows with the bytes that
 * distinguish the keys, for any keys, and no memory is allocated. (qsort may allocate as much as it
 * sorts, or need quadratic time.)
 */
#ifndef SBN_MODEL_RADIX_SORT_H
#define SBN_MODEL_RADIX_SORT_H

#include <stddef.h>

typedef struct sbn_sort_order {
    const void *context;
    /* A number from 1 to 256 for the i-th byte of an element's key; 0 behind its end. */
    int (*byte)(const void *context, const void *element, size_t i);
    /* As for qsort; in the order of the bytes. */
    int (*compare)(const void *context, const void *a, const void *b);
} sbn_sort_order;

/* Elements have `size` bytes, at most SBN_SORT_SIZE. */
#define SBN_SORT_SIZE 64
void sbn__radix_sort(void *elements, size_t count, size_t size, const sbn_sort_order *order);

#endif
