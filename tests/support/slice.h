/*
 * The device of a test; one replica's buffers, cut from a batch that depends on a seed alone; digests of what is in them.
 * Tests include fixture.h.
 */
#pragma once

#include <syncbn.h>

#include "base/digest.h"
#include "program/opencl.h"
#include "support/tap.h"

/* The device of a test. */
typedef struct fixture {
    cl_device_id device;
    cl_context context;
} fixture;

/* The value of outputs before a pass writes them. */
#define PATTERN (-12345.0f)

/* A shard, or a folding, with these fields. */
#define SHARD_WITH(...) ((sbn_shard){.size = sizeof(sbn_shard), __VA_ARGS__})
#define FOLDING_WITH(...) ((sbn_folding){.size = sizeof(sbn_folding), __VA_ARGS__})

/* A folding of a dense layer of one input with a shard's weight and bias, into the place of its gradients. */
#define FOLDING_OF(shard) \
    FOLDING_WITH(.outer = 1, .inner = 1, .weight = (shard)->weight, .bias = (shard)->bias, \
                 .norm_weight = (shard)->weight, .norm_bias = (shard)->bias, \
                 .folded_weight = (shard)->weight_grad, .folded_bias = (shard)->bias_grad, \
                 .num_wait = (shard)->num_wait, .wait_list = (shard)->wait_list, \
                 .event = (shard)->event)

/*
 * The samples first ... first + samples - 1 of the batch with this seed, as
 * (N,C,L), and one replica's buffers for them. Every buffer has an offset.
 */
typedef struct slice {
    cl_command_queue queue;
    sbn_shard shard;
    size_t samples, channels, plane, elements;
} slice;

void slice_open(slice *s, const fixture *f, cl_command_queue queue, size_t first, size_t samples,
                size_t channels, size_t plane, unsigned seed);
/* So many, each of these samples, one behind the other; and their shards. */
void slices_open(slice *slices, sbn_shard *shards, size_t count, const fixture *f,
                 cl_command_queue queue, size_t samples, size_t channels, size_t plane,
                 unsigned seed);
void slice_close(slice *s);
void slices_close(slice *slices, size_t count);

/* Memory of a device, with these contents unless they are NULL. */
cl_mem fixture_buffer(const fixture *f, size_t size, void *contents);

/* A buffer of these floats, with an offset; of `count` patterns where they are NULL. */
sbn_buffer buffer_of(const fixture *f, cl_command_queue queue, const float *values, size_t count);

/* Reads, writes or fills `count` floats behind a buffer's offset, blocking; buffer_copy: into a block to be freed. */
float *buffer_copy(const slice *s, const sbn_buffer *buffer, size_t count);
void buffer_read(const slice *s, const sbn_buffer *buffer, size_t count, float *to);
void buffer_write(const slice *s, const sbn_buffer *buffer, size_t count, const float *values);
void buffer_fill(const slice *s, const sbn_buffer *buffer, size_t count, float value);

/* Releases the events that there are; none is left. */
void events_release(cl_event *events, size_t count);

/* Sets outputs to the pattern; tells whether they all still hold it, padding included. */
void slice_reset(const slice *s);
void slices_reset(const slice *slices, size_t count);
int slice_untouched(const slice *s);

/* The digest of what a buffer holds, to be chained as sbn__digest is. */
uint64_t digest_buffer(uint64_t digest, const slice *s, const sbn_buffer *buffer, size_t count);

/*
 * Whether slices are untouched; the gradients of weight and bias; all that passes write into a slice; a layer's
 * running statistics and, unless NULL, saved ones.
 */
uint64_t digest_untouched(uint64_t digest, const slice *slices, size_t count);
uint64_t digest_gradients(uint64_t digest, const slice *s);
uint64_t digest_slice(uint64_t digest, const slice *s);
uint64_t digest_slices(uint64_t digest, const slice *slices, size_t count);
uint64_t digest_layer(uint64_t digest, const sbn_batchnorm *layer, const sbn_saved *saved);
