/*
 * The structs of the public headers begin with `size_t size`, the caller's sizeof. The library
 * works on complete structs of its own version only: what a caller hands in is copied, with zeros
 * for the fields that it does not have; what is handed out is cut to the caller's size. Elements
 * of an array follow each other at the distance of the first one's size.
 *
 * A new field goes to the end, with 0 for off, and not into what was padding there: an older
 * program's padding holds anything.
 */
#ifndef SBN_BASE_VERSIONED_STRUCT_H
#define SBN_BASE_VERSIONED_STRUCT_H

#include <stddef.h>
#include <string.h>

/* A size above this is no struct's: memory beyond it is not looked at. */
#define SBN_STRUCT_LIMIT 4096

/* The type as the library knows it: its size and its name for sentences. */
#define SBN_STRUCT(type) sizeof(type), #type

static inline size_t sbn__struct_size(const void *one)
{
    size_t size;
    memcpy(&size, one, sizeof size);
    return size;
}

/* Can a struct have this size? It begins with a size_t, and its size is a multiple of that one's. */
static inline int sbn__struct_size_is_possible(size_t size)
{
    return size > sizeof size && size <= SBN_STRUCT_LIMIT && size % sizeof size == 0;
}

/*
 * Checks `count` structs that the caller filled: one possible size for all of them, and nothing
 * but zeros beyond what the library knows. `argument` opens the sentence.
 */
int sbn__struct_check(const void *array, size_t count, size_t known, const char *type,
                      const char *argument);

/* The same without a sentence: 1 if all is well. */
int sbn__struct_is_valid(const void *array, size_t count, size_t known);

/* Checks `count` structs that the library is to fill: one possible size for all of them. */
int sbn__struct_check_room(const void *array, size_t count, size_t known, const char *type,
                           const char *argument);

/* Copies an element of a checked array into the library's struct. */
void sbn__struct_get(void *own, size_t known, const void *array, size_t index);

/* Checks one struct and copies it. */
int sbn__struct_read(void *own, const void *one, size_t known, const char *type,
                     const char *argument);

/*
 * Fills an element of a checked array: as much as fits the caller's size, which stays, and zeros
 * beyond what the library knows. Inline, because libsyncbn-mpi cannot call private functions.
 */
static inline void sbn__struct_put(void *array, size_t index, const void *own, size_t known)
{
    const size_t size = sbn__struct_size(array);
    char *one = (char *)array + index * size;
    memset(one, 0, size);
    memcpy(one, own, size < known ? size : known);
    memcpy(one, &size, sizeof size);
}

/* The public sbn_*_init: the defaults, for a caller whose struct has `size` bytes. */
int sbn__struct_init(void *one, size_t size, const void *defaults, size_t known, const char *type,
                     const char *argument);

#endif
