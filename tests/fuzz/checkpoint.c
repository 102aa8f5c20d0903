/*
 * Any bytes as a checkpoint: its layers are described and read, it is loaded into a model on a
 * device, and the model saved over it. What was saved is loaded again with the same values; a load
 * that fails changes nothing unless a device fails.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "fuzz/fuzz.h"
#include "support/folder.h"
#include "support/network.h"

enum { SMALL = 4096 };

static const network_layer named[LAYERS] = {{"1", 4, 0, 0}, {"4.1", 6, 0, 0}, {"", 2, 0, 0}};

static network n;
static const char *path;

static void open_model(void)
{
    static fixture device;
    fuzz_must(!fixture_open(&device));
    const cl_command_queue queue = fixture_queue(&device, 0);
    network_open_of(&n, &device, queue, fixture_group(queue, 1, SBN_FORM_AUTO), 1, named);
    path = fuzz_path();
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
    must(sbn_model_reset_parameters(n.model), "sbn_model_reset_parameters");
    const uint64_t before = network_digest(&n);
    if (judged(sbn_model_load(n.model, path, &config))) {
        fuzz_must(network_digest(&n) == before);
        return;
    }
    const uint64_t loaded = network_digest(&n);
    fuzz_must(!strict || problems == 0);
    if (judged(sbn_model_save(n.model, path, path)))
        return;
    must(sbn_model_reset_parameters(n.model), "sbn_model_reset_parameters");
    must(sbn_model_load(n.model, path, NULL), "what was saved");
    fuzz_must(network_digest(&n) == loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (!n.model)
        open_model();
    const long before = sbn__handles_open();
    folder_write(path, bytes, size);
    /* Few of those that cannot: asking the device for all values takes longest. */
    if (look() || size % 16 == 0)
        load_and_save(size % 2 == 0);
    fuzz_must(sbn__handles_open() == before);
    return 0;
}
