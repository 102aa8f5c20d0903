/*
 * Programs compiled against an older and against a newer version of the structs do the same work as one of this
 * version, on the shared library: with the same results, nothing written beyond their structs, and later fields refused
 * if they are used. The programs are one, whose structs are copied into blocks as large as those of its version.
 */
#include <stdlib.h>
#include <string.h>

#include "support/refused.h"

enum { REPLICAS = 2, CHANNELS = 3, PLANE = 5, SAMPLES = 4 };

typedef enum version { OLDER, CURRENT, NEWER } version;

/* What later versions might append, and memory that is not the program's. */
enum { LATER = 16, BEYOND = 16, FILLER = 0xa5 };

/* A struct's size now, and that of a version that ends before a field. */
typedef struct kind {
    size_t now, older;
} kind;

#define KIND(type, field) ((kind){sizeof(type), offsetof(type, field)})
#define GROUP KIND(sbn_group_config, on_timeout)
#define TRANSPORT KIND(sbn_transport, missing)
#define LAYER KIND(sbn_batchnorm_config, track_running_stats)
#define SHARD KIND(sbn_shard, num_wait)
#define RESULT KIND(sbn_result, synchronised)
#define BRANCH KIND(sbn_branch, flags)
#define TENSORS KIND(sbn_tensors, num_wait)
#define FOLDING KIND(sbn_folding, num_wait)
#define SAMPLER KIND(sbn_sampler, seed)
#define LOAD KIND(sbn_load_config, report)
#define INFO KIND(sbn_layer_info, type)
/* They have had the same fields always. */
#define PARAMETERS ((kind){sizeof(sbn_parameters), sizeof(sbn_parameters)})
#define PARALLEL ((kind){sizeof(sbn_data_parallel_config), sizeof(sbn_data_parallel_config)})

static fixture device;
static cl_command_queue queue;
static version program;
static int overwritten;
static void *blocks[64];
static size_t block_count;

static size_t size_of(kind k)
{
    return program == OLDER ? k.older : k.now + (program == NEWER ? LATER : 0);
}

/* Room for `count` structs of the program's, one behind the other, with their sizes. */
static void *room(kind k, size_t count)
{
    const size_t size = size_of(k);
    unsigned char *made = malloc(count * size + BEYOND);
    must(made && block_count < 64 ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "malloc");
    memset(made, FILLER, count * size + BEYOND);
    for (size_t i = 0; i < count; ++i)
        memcpy(made + i * size, &size, sizeof size);
    return blocks[block_count++] = made;
}

static void *own(kind k, const void *structs, size_t count)
{
    const size_t size = size_of(k), common = size < k.now ? size : k.now;
    unsigned char *made = room(k, count);
    for (size_t i = 0; i < count; ++i) {
        memset(made + i * size, 0, size);
        memcpy(made + i * size, (const char *)structs + i * k.now, common);
        memcpy(made + i * size, &size, sizeof size);
    }
    return made;
}

/* Whether what the library has filled is whole: nothing behind the last, zeros in later fields. */
static void check_filled(kind k, const void *structs, size_t count)
{
    const unsigned char *byte = structs;
    const size_t size = size_of(k);
    for (size_t i = 0; i < BEYOND; ++i)
        overwritten += byte[count * size + i] != FILLER;
    for (size_t i = 0; i < count; ++i)
        for (size_t at = k.now; at < size; ++at)
            overwritten += byte[i * size + at] != 0;
}

/* _init fills a struct of an array up to the program's size, with the fields of the macro. */
#define CHECK_INIT(k, type, macro) \
    do { \
        static const type defaults[2] = {macro, macro}; \
        const size_t size = size_of(k); \
        char *made = memset(room(k, 2), FILLER, 2 * size); \
        for (size_t i = 0; i < 2; ++i) \
            must(type##_init((type *)(void *)(made + i * size), size), #type "_init"); \
        check_filled(k, made, 2); \
        overwritten += memcmp(made, own(k, defaults, 2), 2 * size) != 0; \
    } while (0)

static void check_inits(void)
{
    CHECK_INIT(GROUP, sbn_group_config, SBN_GROUP_CONFIG_INIT);
    CHECK_INIT(LAYER, sbn_batchnorm_config, SBN_BATCHNORM_CONFIG_INIT);
    CHECK_INIT(SHARD, sbn_shard, SBN_SHARD_INIT);
    CHECK_INIT(SAMPLER, sbn_sampler, SBN_SAMPLER_INIT);
    CHECK_INIT(LOAD, sbn_load_config, SBN_LOAD_CONFIG_INIT);
    CHECK_INIT(PARALLEL, sbn_data_parallel_config, SBN_DATA_PARALLEL_CONFIG_INIT);
}

/* A call refuses a struct of which the last one's first later field is used; it names both. */
#define CHECK_LATER(k, structs, count, call, argument) \
    do { \
        unsigned char *later = (unsigned char *)(structs) + (count)*size_of(k) - LATER; \
        if (program == NEWER) { \
            *later = 1; \
            REFUSED(call, argument ": size: this library's|at offset"); \
            *later = 0; \
        } \
    } while (0)

/* The tensors of the work, for all programs. */
static slice slices[REPLICAS];
static sbn_shard of_slices[REPLICAS];

/* Two passes, two branches in one call, and an averaging. */
static void train(sbn_group *group, sbn_batchnorm *layer)
{
    const size_t count = CHANNELS;
    sbn_saved *saved = fixture_saved(layer), *other = fixture_saved(layer);
    sbn_shard of_second[REPLICAS];
    sbn_tensors tensors[REPLICAS] = {SBN_TENSORS_INIT, SBN_TENSORS_INIT};
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    sbn_data_parallel *parallel, *none;
    sbn_result results[2];
    for (size_t r = 0; r < REPLICAS; ++r) {
        of_second[r] = of_slices[r];
        tensors[r].buffers = &of_slices[r].weight_grad;
        /* Of one sample; branches may not share an output. */
        of_second[r].shape[0] = 1;
        of_second[r].y = of_second[r].dx;
    }
    sbn_shard *shards = own(SHARD, of_slices, REPLICAS);
    sbn_result *own_results = room(RESULT, 2);
    must(sbn_forward(layer, shards, saved, 0, own_results), "sbn_forward");
    must(sbn_backward(layer, shards, saved, 0, NULL), "sbn_backward");
    const sbn_branch list[] = {
        {sizeof *list, layer, shards, saved, 0},
        {sizeof *list, layer, own(SHARD, of_second, REPLICAS), other, 0},
    };
    sbn_branch *branches = own(BRANCH, list, 2);
    must(sbn_forward_branches(branches, 2, own_results), "sbn_forward_branches");
    check_filled(RESULT, own_results, 2);
    for (size_t i = 0; i < 2; ++i)
        memcpy(&results[i], (char *)own_results + i * size_of(RESULT), RESULT.older);
    tap_ok(results[0].size == size_of(RESULT) && results[0].count == 2 * SAMPLES * PLANE &&
               results[1].size == size_of(RESULT) && results[1].count == 2 * PLANE,
           "counts of %d and %d values", (int)results[0].count, (int)results[1].count);
    sbn_data_parallel_config *settings = own(PARALLEL, &config, 1);
    sbn_tensors *own_tensors = own(TENSORS, tensors, REPLICAS);
    must(sbn_data_parallel_create(group, settings, &parallel), "sbn_data_parallel_create");
    must(sbn_average_gradients(parallel, &count, 1, own_tensors), "sbn_average_gradients");
    CHECK_LATER(SHARD, shards, REPLICAS, sbn_forward(layer, shards, saved, 0, NULL), "shards[1]");
    CHECK_LATER(BRANCH, branches, 2, sbn_forward_branches(branches, 2, NULL), "branches[1]");
    CHECK_LATER(TENSORS, own_tensors, REPLICAS,
                sbn_average_gradients(parallel, &count, 1, own_tensors), "replicas[1]");
    CHECK_LATER(PARALLEL, settings, 1, sbn_data_parallel_create(group, settings, &none), "config");
    sbn_data_parallel_destroy(parallel);
    sbn_saved_destroy(saved);
    sbn_saved_destroy(other);
}

static void take_samples(void)
{
    static const uint64_t right[] = {7, 9, 11, 13}; /* the odd ones, from the fourth on */
    uint64_t samples[4];
    const sbn_sampler settings = {sizeof settings, .samples = 40, .replicas = 2, .replica = 1};
    sbn_sampler *sampler = own(SAMPLER, &settings, 1);
    must(sbn_sampler_take(sampler, 3, 4, samples), "sbn_sampler_take");
    tap_ok(memcmp(samples, right, sizeof right) == 0, "its samples in their order");
    CHECK_LATER(SAMPLER, sampler, 1, sbn_sampler_take(sampler, 0, 1, samples), "sampler");
}

/* A model of the layer, loaded and read from a file; the other layer is folded. */
static void use_models(sbn_batchnorm *layer, sbn_batchnorm *tracking)
{
    sbn_model *model;
    sbn_checkpoint *checkpoint;
    sbn_parameters buffers[REPLICAS];
    sbn_folding foldings[REPLICAS];
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    sbn_layer_info info = SBN_LAYER_INFO_INIT;
    const char *path = data_path("network_f32.safetensors");
    config.strict = 0;
    for (size_t r = 0; r < REPLICAS; ++r) {
        const sbn_shard *own_shard = &slices[r].shard;
        buffers[r] = (sbn_parameters){sizeof *buffers, own_shard->weight, own_shard->bias};
        foldings[r] = FOLDING_OF(own_shard);
    }
    sbn_parameters *own_buffers = own(PARAMETERS, buffers, REPLICAS);
    sbn_folding *own_foldings = own(FOLDING, foldings, REPLICAS);
    sbn_load_config *own_config = own(LOAD, &config, 1);
    sbn_layer_info *own_info = room(INFO, 1);
    sbn_batchnorm_config *own_settings = room(LAYER, 1);
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, "a", layer, own_buffers), "sbn_model_add");
    must(sbn_model_load(model, path, own_config), "sbn_model_load");
    must(sbn_checkpoint_create(path, &checkpoint), "sbn_checkpoint_create");
    must(sbn_checkpoint_layer(checkpoint, 0, own_info), "sbn_checkpoint_layer");
    must(sbn_batchnorm_settings(layer, own_settings), "sbn_batchnorm_settings");
    check_filled(INFO, own_info, 1);
    check_filled(LAYER, own_settings, 1);
    memcpy(&info, own_info, INFO.older);
    memcpy(&settings, own_settings, LAYER.older);
    tap_ok(info.channels == 4 && settings.channels == CHANNELS && settings.affine == 1,
           "a checkpoint's layer has %zu channels, expected 4, the program's own %zu",
           info.channels, settings.channels);
    if (program != OLDER)
        must(sbn_batchnorm_fold(tracking, own_foldings), "sbn_batchnorm_fold");
    CHECK_LATER(PARAMETERS, own_buffers, REPLICAS, sbn_model_add(model, "x", tracking, own_buffers),
                "parameters[1]");
    CHECK_LATER(FOLDING, own_foldings, REPLICAS, sbn_batchnorm_fold(tracking, own_foldings),
                "foldings[1]");
    CHECK_LATER(LOAD, own_config, 1, sbn_model_load(model, path, own_config), "config");
    sbn_checkpoint_destroy(checkpoint);
    sbn_model_destroy(model);
}

/* A digest of what the passes wrote. */
static uint64_t run(version of)
{
    static const char *const names[] = {"with fewer fields", "of now", "with later fields"};
    const cl_command_queue queues[] = {queue, queue};
    sbn_hub *hub;
    sbn_group *group, *none;
    sbn_batchnorm *layer, *tracking, *no_layer;
    sbn_group_config of_group = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    program = of;
    overwritten = 0;
    tap_note("structs %s", names[of]);
    slices_open(slices, of_slices, REPLICAS, &device, queue, SAMPLES, CHANNELS, PLANE, 3);
    check_inits();
    sbn_transport *transport = room(TRANSPORT, 1);
    must(sbn_hub_create(1, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 0, transport), "sbn_hub_transport");
    check_filled(TRANSPORT, transport, 1);
    of_group.queues = queues;
    of_group.replicas = REPLICAS;
    of_group.transport = transport;
    of_layer.channels = CHANNELS;
    sbn_group_config *config = own(GROUP, &of_group, 1);
    must(sbn_group_create(config, &group), "sbn_group_create");
    /* Fields that an older program lacks are off. */
    must(sbn_batchnorm_create(group, own(LAYER, &of_layer, 1), &tracking), "sbn_batchnorm_create");
    of_layer.track_running_stats = 0;
    sbn_batchnorm_config *settings = own(LAYER, &of_layer, 1);
    must(sbn_batchnorm_create(group, settings, &layer), "sbn_batchnorm_create");
    train(group, layer);
    const uint64_t digest = digest_slices(SBN_DIGEST_START, slices, REPLICAS);
    take_samples();
    use_models(layer, tracking);
    CHECK_LATER(GROUP, config, 1, sbn_group_create(config, &none), "config");
    CHECK_LATER(TRANSPORT, transport, 1, sbn_group_create(config, &none), "transport");
    CHECK_LATER(LAYER, settings, 1, sbn_batchnorm_create(group, settings, &no_layer), "config");
    tap_ok(!overwritten, "structs are filled up to their size, no further: %d bytes", overwritten);
    sbn_batchnorm_destroy(layer);
    sbn_batchnorm_destroy(tracking);
    sbn_group_destroy(group);
    sbn_hub_destroy(hub);
    while (block_count > 0)
        free(blocks[--block_count]);
    slices_close(slices, REPLICAS);
    return digest;
}

/* Other impossible sizes: tests/pass/arguments. */
static void check_refused_inits(void)
{
    sbn_shard shard, largest[4096 / sizeof(sbn_shard) + 1];
    REFUSED(sbn_shard_init(&shard, 71), "size: expected sizeof(sbn_shard)");
    REFUSED(sbn_shard_init(NULL, sizeof shard), "shard|sbn_shard|got NULL");
    REFUSED(sbn_shard_init(&shard, sizeof(size_t)), "size: expected sizeof(sbn_shard)");
    RIGHT(sbn_shard_init(largest, 4096));
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    const uint64_t current = run(CURRENT), older = run(OLDER), newer = run(NEWER);
    tap_ok(older == current && newer == current, "all have the same results");
    check_refused_inits();
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
