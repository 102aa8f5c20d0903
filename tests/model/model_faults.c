/*
 * Every call into OpenCL and every allocation of models, checkpoints, moves, folding and frozen
 * passes fails once: each failure is reported with a sentence, nothing leaks, a layer is in one
 * group or the other, a file is whole, and the same call succeeds the next time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/memory.h"
#include "model/model.h"
#include "support/vectors.h"
#include "support/wraps.h"

enum { CHANNELS = 4, PLANE = 30, SAMPLES = 3, LAYERS = 2, MOST = 2 };

static fixture device;
static cl_command_queue queue;
static sbn_group *groups[2]; /* of one replica and of two */
static sbn_model *model;
static sbn_batchnorm *layers[LAYERS];
static sbn_parameters parameters[LAYERS][MOST], folded[MOST];
static sbn_saved *saved;
static slice slices[MOST];
static int where; /* the group that the layers are in */
static char path[80];

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *to)
{
    (void)context, (void)name;
    *to = parameters[layer == layers[1]][replica];
    return SBN_SUCCESS;
}

static int convert(void)
{
    const int status = sbn_model_set_group(model, groups[!where], replicate, NULL);
    /* An error while parameters are copied leaves the layers in the new group: all of them. */
    where = sbn_batchnorm_group(layers[0]) == groups[1];
    return status;
}

static int load(void)
{
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    config.strict = 0;
    return sbn_model_load(model, data_path("network_f16.safetensors"), &config);
}

static int save(void)
{
    return sbn_model_save(model, path, path);
}

static int left_behind; /* a file of a save that failed */

/* The layers alone, into a file that is not there. */
static int save_alone(void)
{
    char alone[96];
    snprintf(alone, sizeof alone, "%s-alone", path);
    const int status = sbn_model_save(model, alone, NULL);
    left_behind = unlink(alone) == 0 && status;
    return status;
}

static int look(void)
{
    sbn_checkpoint *checkpoint = NULL;
    float values[CHANNELS];
    int64_t batches;
    int status = sbn_checkpoint_create(data_path("network_f16.safetensors"), &checkpoint);
    if (!status)
        status = sbn_checkpoint_read(checkpoint, 0, values, NULL, NULL, NULL, &batches);
    sbn_checkpoint_destroy(checkpoint);
    return status;
}

static int fold(void)
{
    sbn_folding foldings[MOST];
    for (size_t r = 0; r < MOST; ++r)
        foldings[r] = (sbn_folding){
            .size = sizeof(sbn_folding),
            .outer = 1,
            .inner = 2,
            .weight = slices[r].shard.x,
            .norm_weight = parameters[0][r].weight,
            .norm_bias = parameters[0][r].bias,
            .folded_weight = folded[r].weight,
            .folded_bias = folded[r].bias,
        };
    return sbn_batchnorm_fold(layers[0], foldings);
}

/* In a group where nothing was folded before. */
static int fold_anew(void)
{
    const int status = convert();
    return status ? status : fold();
}

static int pass(void)
{
    const sbn_shard shards[MOST] = {slices[0].shard, slices[1].shard};
    int status = sbn_forward(layers[0], shards, saved, 0, NULL);
    if (!status)
        status = sbn_backward(layers[0], shards, saved, 0, NULL);
    return status;
}

static int reset(void)
{
    return sbn_model_reset_parameters(model);
}

static int add(void)
{
    sbn_model *other;
    int status = sbn_model_create(&other);
    for (int i = 0; i < 2 && !status; ++i)
        status = sbn_model_add(other, i ? "b" : "a", layers[i], parameters[i]);
    sbn_model_destroy(other);
    return status;
}

static const struct {
    const char *name;
    int (*work)(void);
    int from;     /* the group in which it begins */
    int of_files; /* a failure leaves the file as it is; one of memory is called so */
} works[] = {{"to two replicas", convert, 0, 0},
             {"to one replica", convert, 1, 0},
             {"load", load, 1, 1},
             {"save", save, 1, 1},
             {"save without a base", save_alone, 1, 1},
             {"look", look, 1, 1},
             {"fold", fold, 1, 0},
             {"fold anew", fold_anew, 0, 0},
             {"pass", pass, 1, 0},
             {"reset", reset, 1, 0},
             {"add", add, 1, 0}};

/* The file can be opened, and nothing lies beside it. */
static int is_whole(void)
{
    sbn_checkpoint *checkpoint;
    const int status = sbn_checkpoint_create(path, &checkpoint);
    const int whole = !status && sbn_checkpoint_size(checkpoint) == 2;
    if (!status)
        sbn_checkpoint_destroy(checkpoint);
    return whole;
}

static uint64_t digest_of_file(void)
{
    static unsigned char bytes[1 << 16];
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
        fclose(file);
    return sbn__digest(SBN_DIGEST_START, bytes, size);
}

/* Does the model know a layer's buffers for each replica of its group? */
static int has_its_buffers(size_t layer)
{
    return model->entries[layer].replicas == sbn_group_replicas(groups[where]) &&
           model->entries[layer].parameters[where].weight.mem ==
               parameters[layer][where].weight.mem;
}

static void begin(size_t w)
{
    if (where != works[w].from)
        must(convert(), "sbn_model_set_group");
}

/* Returns whether a call failed, and what was wrong then. */
static int fails_at(size_t w, int n, const char **wrong)
{
    *wrong = NULL;
    begin(w);
    const uint64_t before = digest_of_file();
    wraps_fail(WRAP_ANY, n);
    const int status = works[w].work();
    const int failed = wraps_failed(), spoken = *sbn_last_error() != '\0';
    wraps_fail(WRAP_ANY, 0);
    must(clFinish(queue), "clFinish");
    if (failed < 0)
        return status ? *wrong = "an error without a failure", 0 : 0;
    if (!status)
        *wrong = "a failure was not noticed";
    else if (failed == WRAP_ALLOCATE && works[w].of_files && status != SBN_OUT_OF_MEMORY)
        *wrong = "no memory, but another status";
    else if (works[w].of_files && digest_of_file() != before)
        *wrong = "the file has changed";
    else if (left_behind)
        *wrong = "a file that is not whole";
    else if (!spoken)
        *wrong = "no sentence";
    else if (!is_whole())
        *wrong = "the file is not whole";
    else if (sbn_batchnorm_group(layers[0]) != groups[where] ||
             sbn_batchnorm_group(layers[1]) != groups[where])
        *wrong = "a layer is in another group";
    else if (!has_its_buffers(0) || !has_its_buffers(1))
        *wrong = "a layer has another group's buffers";
    else if (fold() || works[w].work())
        *wrong = "the next call fails too";
    must(clFinish(queue), "clFinish");
    return 1;
}

static void check(size_t w)
{
    const char *wrong = NULL;
    int n = 1;
    /* Memory that is kept between calls has been allocated now. */
    begin(w);
    must(works[w].work(), works[w].name);
    begin(w);
    must(fold(), "sbn_batchnorm_fold");
    must(clFinish(queue), "clFinish");
    const long handles = sbn__handles_open();
    while (!wrong && fails_at(w, n, &wrong))
        ++n;
    begin(w);
    const long more = sbn__handles_open() - handles;
    tap_ok(!wrong && n > 2 && more <= 0, "%s: each of %d calls failed once: %s; %ld more handles",
           works[w].name, n - 1, wrong ? wrong : "reported, and all is well", more);
}

static sbn_parameters make(size_t weights, size_t biases)
{
    return (sbn_parameters){sizeof(sbn_parameters), buffer_of(&device, queue, NULL, weights),
                            buffer_of(&device, queue, NULL, biases)};
}

static void release(const sbn_parameters *p)
{
    clReleaseMemObject(p->weight.mem);
    clReleaseMemObject(p->bias.mem);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/model-faults-%ld", temporary ? temporary : "/tmp",
             (long)getpid());
    queue = fixture_queue(&device, 0);
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    const cl_command_queue queues[MOST] = {queue, queue};
    config.queues = queues;
    must(sbn_model_create(&model), "sbn_model_create");
    for (size_t i = 0; i < 2; ++i) {
        config.replicas = i + 1;
        must(sbn_group_create(&config, &groups[i]), "sbn_group_create");
    }
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
        layer.channels = CHANNELS + 2 * i;
        must(sbn_batchnorm_create(groups[0], &layer, &layers[i]), "sbn_batchnorm_create");
        for (size_t r = 0; r < MOST; ++r)
            parameters[i][r] = make(layer.channels, layer.channels);
        must(sbn_model_add(model, i ? "4.1" : "1", layers[i], parameters[i]), "sbn_model_add");
    }
    must(sbn_saved_create(layers[0], &saved), "sbn_saved_create");
    must(sbn_model_set_frozen(model, 1), "sbn_model_set_frozen");
    for (size_t r = 0; r < MOST; ++r) {
        slice_open(&slices[r], &device, queue, r * SAMPLES, SAMPLES, CHANNELS, PLANE, 1);
        folded[r] = make(2 * CHANNELS, CHANNELS);
    }
    must(load(), "load");
    must(sbn_model_save(model, path, data_path("network_f16.safetensors")), "save");
    for (size_t w = 0; w < sizeof works / sizeof *works; ++w)
        check(w);
    sbn_saved_destroy(saved);
    sbn_model_destroy(model);
    for (int i = 0; i < LAYERS; ++i)
        sbn_batchnorm_destroy(layers[i]);
    for (int i = 0; i < 2; ++i)
        sbn_group_destroy(groups[i]);
    for (size_t r = 0; r < MOST; ++r) {
        slice_close(&slices[r]);
        release(&folded[r]);
        for (int i = 0; i < LAYERS; ++i)
            release(&parameters[i][r]);
    }
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    unlink(path);
    return tap_done();
}
