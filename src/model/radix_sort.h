/*
 * A sort in place by bytes, for keys that come from a file: its time grows with the bytes that tell
 * the keys apart, whatever they are, and it takes no memory. (qsort may take as much as it sorts,
 * or, where there is none, quadratic time.)
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
