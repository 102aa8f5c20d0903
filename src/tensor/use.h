/* The buffers of a pass, each for itself and in pairs: size, context, and elements in common. */
#ifndef SBN_TENSOR_USE_H
#define SBN_TENSOR_USE_H

#include "device/device.h"
#include "plan/shape.h"

/* A buffer that a call accesses. */
typedef struct sbn_use {
    const char *name;
    sbn_buffer buffer;
    size_t elements;
    sbn_type type; /* of the elements */
    int written;
    int optional;
    size_t rows, gap; /* of a view: rows of equal length, elements of others between them */
} sbn_use;

/* 1 if both are the same range of a buffer. */
int sbn__is_same_buffer(const sbn_buffer *a, const sbn_buffer *b);

/* The bytes of a checked buffer that are accessed: the first, and the one behind the last. */
size_t sbn__use_begin(const sbn_use *u);
size_t sbn__use_end(const sbn_use *u);

/*
 * Whether the ranges of two buffers, first to last element, meet; and whether elements do: rows of
 * the same pitch may interleave. Those of different pitches are taken to overlap; the note says
 * that.
 */
int sbn__uses_meet(const sbn_use *a, const sbn_use *b);
int sbn__uses_overlap(const sbn_use *a, const sbn_use *b);
const char *sbn__overlap_note(const sbn_use *a, const sbn_use *b);

/*
 * Checks buffers of one replica: none may overlap one that is written. The shard gives the shape.
 */
int sbn__check_uses(const sbn_use *uses, size_t count, const sbn_shard *shard,
                    const sbn_replica *replica, const char *who);

/* Checks a buffer of `elements` floats that a replica is to use. */
int sbn__check_buffer(const sbn_buffer *buffer, size_t elements, const sbn_replica *replica,
                      const char *who, const char *name);

#endif
