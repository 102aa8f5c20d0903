/*
 * Any bytes as a checkpoint: its layers are described and read, it is loaded into a model on a
 * device, and the model saved over it. What was saved is loaded again with the same values; a load
 * that fails changes nothing unless a device fails.
 */
#include <fcntl.h>
#include <stdlib.h>

#include "base/memory.h"
#include "fuzz/fuzz.h"
#include "support/vectors.h"

enum { LAYERS = 3, SMALL = 4096 };

static const char *const names[LAYERS] = {"1", "4.1", ""};
static const size_t channels[LAYERS] = {4, 6, 2};

static fixture device;
static cl_command_queue queue;
static sbn_model *model;
static sbn_batchnorm *layers[LAYERS];
static sbn_parameters parameters[LAYERS];
static const char *path;

static void open_model(void)
{
    fuzz_must(!fixture_open(&device));
    queue = fixture_queue(&device, 0);
    sbn_group *group = fixture_rank(&queue, 1, NULL);
    must(sbn_model_create(&model), "sbn_model_create");
    for (size_t i = 0; i < LAYERS; ++i) {
        layers[i] = fixture_layer(group, channels[i]);
        parameters[i] = (sbn_parameters){sizeof(sbn_parameters),
                                         buffer_of(&device, queue, NULL, channels[i]),
                                         buffer_of(&device, queue, NULL, channels[i])};
        must(sbn_model_add(model, names[i], layers[i], &parameters[i]), "sbn_model_add");
    }
    path = fuzz_path();
}

static uint64_t values(void)
{
    const slice s = {.queue = queue};
    uint64_t digest = SBN_DIGEST_START;
    for (size_t i = 0; i < LAYERS; ++i) {
        digest = digest_buffer(digest, &s, &parameters[i].weight, channels[i]);
        digest = digest_buffer(digest, &s, &parameters[i].bias, channels[i]);
        digest = digest_layer(digest, layers[i], NULL);
    }
    return digest;
}

/* Can it be opened at all? */
static int look(void)
{
    sbn_checkpoint *checkpoint;
    if (judged(sbn_checkpoint_create(path, &checkpoint))) {
        fuzz_must(!checkpoint);
        return 0;
    }
    for (size_t i = 0; i <= sbn_checkpoint_size(checkpoint); ++i) {
        sbn_layer_info info = SBN_LAYER_INFO_INIT;
        int64_t batches;
        if (judged(sbn_checkpoint_layer(checkpoint, i, &info)) || info.channels > SMALL)
            continue;
        float *of = malloc(sizeof(float) * (4 * info.channels + 1));
        fuzz_must(of && info.name && info.type);
        judged(sbn_checkpoint_read(checkpoint, i, of, of + info.channels, of + 2 * info.channels,
                                   of + 3 * info.channels, &batches));
        free(of);
    }
    must(sbn_checkpoint_destroy(checkpoint), "sbn_checkpoint_destroy");
    return 1;
}

static void report(void *context, sbn_key_problem problem, const char *key, const char *sentence)
{
    ++*(int *)context;
    fuzz_must(problem <= SBN_KEY_WRONG_SHAPE && key && *sentence);
}

static void load_and_save(int strict)
{
    int problems = 0;
    const sbn_load_config config = {sizeof config, strict, report, &problems};
    must(sbn_model_reset_parameters(model), "sbn_model_reset_parameters");
    const uint64_t before = values();
    if (judged(sbn_model_load(model, path, &config))) {
        fuzz_must(values() == before);
        return;
    }
    const uint64_t loaded = values();
    fuzz_must(!strict || problems == 0);
    if (judged(sbn_model_save(model, path, path)))
        return;
    must(sbn_model_reset_parameters(model), "sbn_model_reset_parameters");
    must(sbn_model_load(model, path, NULL), "what was saved");
    fuzz_must(values() == loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!model)
        open_model();
    const long before = sbn__handles_open();
    fuzz_write(AT_FDCWD, path, bytes, size);
    /* Few of those that cannot: asking the device for all values takes longest. */
    if (look() || size % 16 == 0)
        load_and_save(size % 2 == 0);
    fuzz_must(sbn__handles_open() == before);
    return 0;
}
