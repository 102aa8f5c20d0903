/*
 * What tests of the library's behaviour share: the first PoCL device, queues,
 * one replica's buffers cut from a batch that depends on a seed alone, and
 * judging of errors. A failure of the test's own OpenCL calls ends the program.
 */
#ifndef TESTS_SUPPORT_FIXTURE_H
#define TESTS_SUPPORT_FIXTURE_H

#include <syncbn.h>

#include "program/opencl.h"
#include "support/tap.h"

typedef struct fixture {
    cl_device_id device;
    cl_context context;
} fixture;

/* 0, or 1 where there is no device: the program's result is then fixture_missing(). */
int fixture_open(fixture *f);
void fixture_close(fixture *f);
int fixture_missing(void);

/*
 * A whole program: opens the device, with a queue unless `queue` is NULL, makes the checks and one
 * more, that they leave no handle open, and returns the program's result.
 */
int fixture_main(fixture *f, cl_command_queue *queue, void (*checks)(void));

/* The same with checks of deadlines (support/stalls.h), whose errors may leave handles. */
int fixture_main_waits(fixture *f, void (*checks)(void));

/*
 * Before PoCL is loaded: it runs one command at a time. PoCL 3.1 aborts where three and more of one
 * kernel run at once (doc/devices.md); so does every program with ranks as threads.
 */
void fixture_one_thread(void);

cl_command_queue fixture_queue(const fixture *f, int out_of_order);

/* A group of up to 16 replicas on one queue, alone; and one on a queue each, with or without others. */
sbn_group *fixture_group(cl_command_queue queue, size_t replicas, sbn_kernel_form form);
sbn_group *fixture_rank(const cl_command_queue *queues, size_t replicas,
                        const sbn_transport *transport);

/* A layer with the usual settings, or with those of a config. */
sbn_batchnorm *fixture_layer(sbn_group *group, size_t channels);
sbn_batchnorm *fixture_layer_of(sbn_group *group, const sbn_batchnorm_config *config);

/* Saved statistics of a layer, and the end of both. */
sbn_saved *fixture_saved(sbn_batchnorm *layer);
void fixture_end(sbn_batchnorm *layer, sbn_saved *saved);

/* Ends the program unless code is CL_SUCCESS. */
void must(int code, const char *what);

/* The value of outputs before a pass writes them. */
#define PATTERN (-12345.0f)

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
void slice_close(slice *s);

/* The values of x and dy on the host: sample n, channel c, position i. */
float batch_x(unsigned seed, size_t n, size_t c, size_t i);
float batch_dy(unsigned seed, size_t n, size_t c, size_t i);

/* A buffer of these floats, with an offset; of `count` patterns where they are NULL. */
sbn_buffer buffer_of(const fixture *f, cl_command_queue queue, const float *values, size_t count);

/* Reads or fills `count` floats behind a buffer's offset, blocking. */
void buffer_read(const slice *s, const sbn_buffer *buffer, size_t count, float *to);
void buffer_fill(const slice *s, const sbn_buffer *buffer, size_t count, float value);

/* Sets outputs to the pattern; tells whether they all still hold it, padding included. */
void slice_reset(const slice *s);
int slice_untouched(const slice *s);

/* The path of a file in tests/model/data, until the next call. */
const char *data_path(const char *name);

/* An event that clSetUserEventStatus completes. */
cl_event fixture_gate(const fixture *f);

/*
 * What a timeout abandons stays allocated, on purpose: LeakSanitizer does not report what the
 * calling thread allocates from here on.
 */
void expect_leaks(void);

/* FNV-1a over the bits, to be chained; start from DIGEST_START. */
#define DIGEST_START 1469598103934665603u
uint64_t digest_of(uint64_t digest, const void *bytes, size_t size);
uint64_t digest_buffer(uint64_t digest, const slice *s, const sbn_buffer *buffer, size_t count);

/* All that passes write into a slice; a layer's running statistics and, unless NULL, saved ones. */
uint64_t digest_slice(uint64_t digest, const slice *s);
uint64_t digest_layer(uint64_t digest, const sbn_batchnorm *layer, const sbn_saved *saved);

/*
 * One check: the status came, and its sentence holds every one of `words`,
 * which are separated by '|'. Success has an empty sentence.
 */
int expect(int status, int expected, const char *words, const char *what);

/* Does `sentence` hold all the words? For sentences of other threads. */
int holds_words(const char *sentence, const char *words);

/* The tool that watches: "asan", "tsan", "valgrind" or "". */
const char *tool(void);

#endif
