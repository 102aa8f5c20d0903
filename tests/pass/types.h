/*
 * Two layers side by side, one of halves or bfloat16s and one of floats that holds the same values
 * widened: tests/pass/types.c compares what they write.
 */
#ifndef TESTS_PASS_TYPES_H
#define TESTS_PASS_TYPES_H

#include "support/fixture.h"
#include "support/storage.h"

enum { TYPES_REPLICAS = 3 };

typedef struct case_of {
    sbn_type type;
    sbn_layout layout;
    size_t samples, channels, plane;
    int values; /* VALUES_... */
    size_t replicas;
    int frozen;
} case_of;

/* Values near 1, some of them subnormal; any finite bits; the first with NaN and infinities. */
enum { VALUES_PLAIN, VALUES_ANY, VALUES_SPECIAL };

/* The shards of one layer, all replicas', and what it has besides. */
typedef struct side {
    sbn_type type;
    sbn_shard shards[TYPES_REPLICAS];
    size_t elements[TYPES_REPLICAS];
    sbn_batchnorm *layer;
    sbn_saved *saved;
} side;

/* Makes the layer and its buffers; x and dy hold the same values in any type. */
void side_open(side *s, const case_of *c, sbn_type type, sbn_group *group, cl_context context,
               cl_command_queue queue);
void side_close(side *s, const case_of *c);

/*
 * 1 if each element of `typed`, the buffer at `place` of every shard, is the float of the other
 * side rounded, and nothing around it is overwritten; else why not.
 */
int sides_agree(const side *typed, const side *floats, const case_of *c, size_t place,
                cl_command_queue queue, char *why, size_t size);

/* The same for statistics and gradients, which are floats on both sides. */
int sides_agree_in_channels(const side *typed, const side *floats, const case_of *c,
                            cl_command_queue queue, char *why, size_t size);

#endif
