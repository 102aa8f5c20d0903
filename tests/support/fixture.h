/*
 * What tests of the library's behaviour share: the first PoCL device, queues, groups and layers on it, one replica's
 * buffers (slice.h), and judging of errors. A failure of the test's own OpenCL calls ends the program.
 */
#pragma once

#include "support/slice.h"

/* 0, or 1 where there is no device: the program's result is then fixture_missing(). */
int fixture_open(fixture *f);
void fixture_close(fixture *f);
int fixture_missing(void);

/*
 * Before PoCL is loaded: it runs one command at a time. PoCL 3.1 aborts where three and more of one
 * kernel run at once (doc/devices.md); so does every program with ranks as threads.
 */
void fixture_one_thread(void);

cl_command_queue fixture_queue(const fixture *f, int out_of_order);

/*
 * MAKE_GROUP(&group, queues, .form = SBN_FORM_GPU), MAKE_LAYER(&layer, group, .channels = 3, .affine = OFF): their
 * status. What is 0 is as usual, a group has one replica, without queues none, and what is OFF is 0.
 */
enum { OFF = -1 };
#define MAKE_GROUP(made, queues, ...) \
    fixture_make_group(made, queues, (sbn_group_config){__VA_ARGS__})
#define MAKE_LAYER(made, group, ...) \
    fixture_make_layer(made, group, (sbn_batchnorm_config){__VA_ARGS__})
int fixture_make_group(sbn_group **made, const cl_command_queue *queues, sbn_group_config settings);
int fixture_make_layer(sbn_batchnorm **made, sbn_group *group, sbn_batchnorm_config settings);

/* A group with the settings of MAKE_GROUP. */
#define GROUP_WITH(queues, ...) fixture_group_with(queues, (sbn_group_config){__VA_ARGS__})
sbn_group *fixture_group_with(const cl_command_queue *queues, sbn_group_config settings);

/* A transport between two ranks of which the other never comes: its calls are counted, and fail. */
extern const sbn_transport fixture_unanswered;
extern int fixture_unanswered_calls;

/* A group of up to 16 replicas on one queue, alone. */
sbn_group *fixture_group(cl_command_queue queue, size_t replicas, sbn_kernel_form form);

/* A layer with the settings of MAKE_LAYER. */
#define LAYER_WITH(group, ...) fixture_layer_with(group, (sbn_batchnorm_config){__VA_ARGS__})
sbn_batchnorm *fixture_layer_with(sbn_group *group, sbn_batchnorm_config settings);

/* A pass; what has no flags or result does not look at them. */
typedef enum operation { FORWARD, BACKWARD, EVALUATE, RECOMPUTE, OPERATIONS } operation;
extern const char *const operation_names[OPERATIONS];
int fixture_pass(operation op, sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                 unsigned flags, sbn_result *result);

/* Saved statistics of a layer, and the end of both. */
sbn_saved *fixture_saved(sbn_batchnorm *layer);
void fixture_end(sbn_batchnorm *layer, sbn_saved *saved);

/* A group with one layer, of the settings of MAKE_LAYER, and its saved statistics; and their end. */
typedef struct life {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
} life;

#define LIVE_WITH(group, ...) fixture_live(group, (sbn_batchnorm_config){__VA_ARGS__})
life fixture_live(sbn_group *group, sbn_batchnorm_config settings);
void fixture_train(const life *l, const sbn_shard *shards); /* a pass forward and one back */
void fixture_die(const life *l);

/* How many batches the running statistics have. */
int64_t fixture_batches(const sbn_batchnorm *layer);

/* The path of a file in tests/model/data, until the next call. */
const char *data_path(const char *name);

/* An event that clSetUserEventStatus completes. */
cl_event fixture_gate(const fixture *f);

/* What a timeout abandons is left on purpose: LeakSanitizer reports nothing that this thread allocates from here on. */
void expect_leaks(void);

/*
 * One check: the status came, and its sentence holds every one of `words`,
 * which are separated by '|'; '^' before one: it begins so. Success has an empty sentence.
 */
int expect(int status, int expected, const char *words, const char *what);

/* Does `sentence` hold all the words? For sentences of other threads. */
int holds_words(const char *sentence, const char *words);

/* The tool that watches: "asan", "tsan", "valgrind" or "". */
const char *tool(void);
