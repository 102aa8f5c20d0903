/*
 * The structs of the public headers begin with `size_t size`, the caller's sizeof. The library works on complete
 * structs of its own version: input is copied, with zeros for the fields that the caller's version lacks, and output
 * is cut to the caller's size. In arrays the elements are as far apart as the first one's size says.
 *
 * A new field goes to the end, where 0 means off. It must not go into padding, which has any content in an older
 * program.
 */
#pragma once

#include <stddef.h>
#include <string.h>

/* No struct is larger; memory beyond it is never read. */
#define SBN_STRUCT_LIMIT 4096

/* The type as the library knows it: its size and its name for sentences. */
#define SBN_STRUCT(type) sizeof(type), #type

static inline size_t sbn__struct_size(const void *one)
{
    size_t size;
    memcpy(&size, one, sizeof size);
    return size;
}

/* 1 if a struct may have this size: one size_t or a multiple. */
static inline int sbn__struct_size_is_possible(size_t size)
{
    return size > sizeof size && size <= SBN_STRUCT_LIMIT && size % sizeof size == 0;
}

/*
 * Checks `count` structs that the caller filled: a valid size, the same for all of them, and zeros
 * in fields that the library does not know. `argument` begins the sentence.
 */
int sbn__struct_check(const void *array, size_t count, size_t known, const char *type,
                      const char *argument);

/* The same without a sentence: 1 if all is well, 0 also for NULL. */
int sbn__struct_is_valid(const void *array, size_t count, size_t known);

/* Checks `count` structs that the library is to fill: a valid size, the same for all of them. */
int sbn__struct_check_room(const void *array, size_t count, size_t known, const char *type,
                           const char *argument);

/* Copies an element of a checked array into the library's struct. */
void sbn__struct_get(void *ours, size_t known, const void *array, size_t index);

/* Checks one struct and copies it. */
int sbn__struct_read(void *ours, const void *one, size_t known, const char *type,
                     const char *argument);

/*
 * Fills an element of a checked array: as much as the caller's size holds, and zeros beyond what
 * the library knows; `size` stays. Inline, because libsyncbn-mpi cannot call private functions.
 */
static inline void sbn__struct_put(void *array, size_t index, const void *ours, size_t known)
{
    const size_t size = sbn__struct_size(array);
    char *one = (char *)array + index * size;
    memset(one, 0, size);
    memcpy(one, ours, size < known ? size : known);
    memcpy(one, &size, sizeof size);
}

/* The public sbn_*_init: the defaults, for a caller whose struct has `size` bytes. */
int sbn__struct_init(void *one, size_t size, const void *defaults, size_t known, const char *type,
                     const char *argument);
