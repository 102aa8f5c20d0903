/* The buffers of a pass, each for itself and in pairs: size, context, and elements in common. */
#pragma once

#include "device/device.h"
#include "plan/shape.h"

/* A pass accesses some of these buffers. */
enum {
    SBN_NEEDS_X = 1,
    SBN_NEEDS_Y = 2,
    SBN_NEEDS_DY = 4,
    SBN_MAY_DX = 8, /* mem may be NULL */
    SBN_NEEDS_WEIGHT = 16,
    SBN_NEEDS_BIAS = 32,
    SBN_MAY_GRADIENTS = 64,
    SBN_MAY_REPLACE_X = 128, /* y may be written over x; dx may always be over dy */
    SBN_NEEDS_RESIDUAL = 256,
    SBN_MAY_RESIDUAL_GRAD = 512, /* mem may be NULL; it may be over dy */
    SBN_READS_Y = 1024,          /* in the place of x */
    SBN_MAY_TRACK = 2048,        /* running statistics: written; mem may be NULL */
    SBN_READS_RUNNING = 4096     /* running statistics: read; mem may be NULL */
};

/* A buffer that a call accesses. */
typedef struct sbn_use {
    const char *name;
    sbn_buffer buffer;
    size_t elements;
    sbn_type type; /* of the elements */
    int written;
    int optional;
    size_t rows, gap; /* of a view: rows of equal length, elements of others between them */
    int on_host;      /* the buffer is an address */
} sbn_use;

/* Of floats that lie one behind the other, not in memory of the host. */
sbn_use sbn__use_floats(const char *name, const sbn_buffer *buffer, size_t elements, int written,
                        int optional);

/*
 * Lists the buffers of a checked shard that a pass accesses, gradients last; returns how many there are. An input
 * that an output replaces is left out: the output stands for both. The shape's in_place is set.
 */
#define SBN_MAX_USES 8
size_t sbn__list_uses(sbn_use *uses, const sbn_shard *shard, const sbn_shape *shape, unsigned needs,
                      int affine);

/* 1 if both are the same range of a buffer. */
int sbn__is_same_buffer(const sbn_buffer *a, const sbn_buffer *b);

/*
 * The bytes of a checked buffer that are accessed: what they are counted in, a buffer or, NULL, the
 * host's memory; the first, and the one behind the last.
 */
cl_mem sbn__use_space(const sbn_use *u);
size_t sbn__use_begin(const sbn_use *u);
size_t sbn__use_end(const sbn_use *u);

/*
 * 1 if the ranges of two buffers, first to last element, meet; and if elements do: rows of the same
 * pitch may interleave. Those of different pitches are taken to overlap; the note says that.
 */
int sbn__uses_meet(const sbn_use *a, const sbn_use *b);
int sbn__uses_overlap(const sbn_use *a, const sbn_use *b);
const char *sbn__overlap_note(const sbn_use *a, const sbn_use *b);

/* Checks buffers of one replica: none may overlap one that is written. The shard gives the shape. */
int sbn__check_uses(const sbn_use *uses, size_t count, const sbn_shard *shard,
                    const sbn_replica *replica, const char *who);

/* Checks a buffer of `elements` floats that a replica is to use. */
int sbn__check_buffer(const sbn_buffer *buffer, size_t elements, const sbn_replica *replica,
                      const char *who, const char *name);
