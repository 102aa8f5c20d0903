/*
 * Declarations of <syncbn.h> as another version of it has them: GROWTH is -1 for structs with fewer fields
 * than the present ones, 0 for the present ones, 1 for structs with more fields.
 */
#ifndef TESTS_PASS_GROWTH_DECLARATIONS_H
#define TESTS_PASS_GROWTH_DECLARATIONS_H

#include <stddef.h>
#include <stdint.h>

/* Fields that later versions might append. */
#if GROWTH > 0
#define LATER \
    uint64_t later; \
    void *more;
#else
#define LATER
#endif

typedef struct buffer {
    void *mem;
    size_t offset;
} buffer;

typedef struct group_config {
    size_t size;
    void *const *queues;
    size_t replicas;
    const void *transport;
    double timeout;
#if GROWTH >= 0
    int on_timeout, form;
    const char *build_options, *program_cache;
    void (*on_compile)(void *context, const char *sentence);
    void *compile_context;
#endif
    LATER
} group_config;

typedef struct transport_table {
    size_t size;
    void *context;
    int rank, world_size;
    int (*start)(void *, int, int64_t *, size_t, void **);
    int (*test)(void *, void *, int *);
#if GROWTH >= 0
    int (*missing)(void *, void *, int *);
    int (*split)(void *, const int *, int, int, void *);
    void (*end)(void *);
#endif
    LATER
} transport_table;

typedef struct batchnorm_config {
    size_t size;
    const char *name;
    size_t channels;
    int layout;
    double eps;
    int eps_mode;
    double momentum;
    int average, affine;
#if GROWTH >= 0
    int track_running_stats, dimensions, type, activation;
    double slope;
    int residual, from_output;
#endif
    LATER
} batchnorm_config;

typedef struct shard {
    size_t size;
    int dims;
    size_t shape[5];
    buffer x, y, dy, dx, residual, residual_grad, weight, bias, weight_grad, bias_grad;
#if GROWTH >= 0
    uint32_t num_wait;
    void *const *wait_list;
    void **event;
    size_t x_pitch, y_pitch, dy_pitch, dx_pitch;
    int memory;
    buffer running_mean, running_var;
#endif
    LATER
} shard;

typedef struct result {
    size_t size;
    uint64_t count;
#if GROWTH >= 0
    int synchronised, wide;
#endif
    LATER
} result;

typedef struct branch {
    size_t size;
    void *layer;
    const shard *shards;
    void *saved;
#if GROWTH >= 0
    unsigned flags;
#endif
    LATER
} branch;

typedef struct tensors {
    size_t size;
    const buffer *buffers;
#if GROWTH >= 0
    uint32_t num_wait;
    void *const *wait_list;
    void **event;
#endif
    LATER
} tensors;

typedef struct data_parallel_config {
    size_t size;
    size_t bucket_bytes;
    LATER
} data_parallel_config;

typedef struct parameters {
    size_t size;
    buffer weight, bias;
    LATER
} parameters;

typedef struct folding {
    size_t size, outer, inner;
    buffer weight, bias, norm_weight, norm_bias, folded_weight, folded_bias;
#if GROWTH >= 0
    uint32_t num_wait;
    void *const *wait_list;
    void **event;
#endif
    LATER
} folding;

typedef struct sampler {
    size_t size;
    uint64_t samples, replicas, replica;
#if GROWTH >= 0
    uint64_t seed, epoch;
    int shuffle, drop_last;
#endif
    LATER
} sampler;

typedef struct load_config {
    size_t size;
    int strict;
#if GROWTH >= 0
    void (*report)(void *, int, const char *, const char *);
    void *context;
#endif
    LATER
} load_config;

typedef struct layer_info {
    size_t size;
    const char *name;
    size_t channels;
#if GROWTH >= 0
    const char *type;
    int affine, tracked;
#endif
    LATER
} layer_info;

extern const char *sbn_last_error(void);
extern int sbn_group_config_init(group_config *, size_t);
extern int sbn_group_create(const group_config *, void **);
extern int sbn_group_destroy(void *);
extern int sbn_hub_create(int, void **);
extern void sbn_hub_destroy(void *);
extern int sbn_hub_transport(void *, int, transport_table *);
extern int sbn_batchnorm_config_init(batchnorm_config *, size_t);
extern int sbn_batchnorm_create(void *, const batchnorm_config *, void **);
extern int sbn_batchnorm_destroy(void *);
extern int sbn_batchnorm_settings(const void *, batchnorm_config *);
extern int sbn_batchnorm_fold(void *, const folding *);
extern int sbn_saved_create(void *, void **);
extern int sbn_saved_destroy(void *);
extern int sbn_forward(void *, const shard *, void *, unsigned, result *);
extern int sbn_backward(void *, const shard *, void *, unsigned, result *);
extern int sbn_forward_branches(const branch *, size_t, result *);
extern int sbn_data_parallel_config_init(data_parallel_config *, size_t);
extern int sbn_data_parallel_create(void *, const data_parallel_config *, void **);
extern int sbn_data_parallel_destroy(void *);
extern int sbn_average_gradients(void *, const size_t *, size_t, const tensors *);
extern int sbn_model_create(void **);
extern int sbn_model_destroy(void *);
extern int sbn_model_add(void *, const char *, void *, const parameters *);
extern int sbn_load_config_init(load_config *, size_t);
extern int sbn_model_load(void *, const char *, const load_config *);
extern int sbn_checkpoint_create(const char *, void **);
extern int sbn_checkpoint_destroy(void *);
extern int sbn_checkpoint_layer(const void *, size_t, layer_info *);
extern int sbn_sampler_init(sampler *, size_t);
extern int sbn_sampler_take(const sampler *, uint64_t, size_t, uint64_t *);

enum { INVALID_ARGUMENT = -20001 };

#endif
