/*
 * Sorts in place, for keys that come from a file: in time of n log n whatever the keys are, and
 * without memory. (qsort may allocate as much as it sorts, or need quadratic time.)
 */
#ifndef SBN_BASE_SORT_H
#define SBN_BASE_SORT_H

#include <stddef.h>

/* The order is that of `compare`, as for qsort. Elements have at most SBN_SORT_SIZE bytes. */
#define SBN_SORT_SIZE 64
typedef int sbn_compare_fn(const void *context, const void *a, const void *b);
void sbn__sort(void *elements, size_t count, size_t size, sbn_compare_fn *compare,
               const void *context);

#endif
