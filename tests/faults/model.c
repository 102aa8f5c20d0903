/*
 * A model of two layers: added, set, read, reset, moved to three replicas and back. Its files: looked
 * into, loaded, saved to a new file, over another file by a link, and over themselves.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "model/model.h"
#include "support/folder.h"
#include "support/wraps.h"

enum { MODEL_LAYERS = 2 };

/* The layers of this file that have running statistics. */
static const char file_of_model[] = "network_f16.safetensors";
static const char *const names[MODEL_LAYERS] = {"1", "4.1"};
static const size_t channels[MODEL_LAYERS] = {4, 6};

static sbn_model *model;
static sbn_parameters parameters[MODEL_LAYERS][REPLICAS];
static float got[2][8];
static int undefined; /* a copy has failed: what the buffers hold is not known */

/* Layers begin in the group of three replicas; weight and bias lie where passes would write. */
static void begin(void)
{
    memset(got, 0, sizeof got);
    undefined = 0;
    stand_begin(0, 1);
    stand_begin(1, REPLICAS);
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        must(STAND_LAYER(i, at.groups[1], .name = names[i], .channels = channels[i]),
             "sbn_batchnorm_create");
        slices_reset(at.more[i], REPLICAS);
        for (size_t r = 0; r < REPLICAS; ++r)
            parameters[i][r] = (sbn_parameters){sizeof(sbn_parameters), at.more[i][r].shard.y,
                                                at.more[i][r].shard.dx};
    }
}

static void end(void)
{
    sbn_model_destroy(model);
    model = NULL;
    stand_end();
}

static int make(void)
{
    int status = model ? SBN_SUCCESS : sbn_model_create(&model);
    for (size_t i = sbn_model_size(model); i < MODEL_LAYERS && !status; ++i)
        status = sbn_model_add(model, names[i], at.layers[i], parameters[i]);
    return status;
}

/* Weights and biases of all replicas, and running statistics. */
static uint64_t values(uint64_t digest)
{
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        for (size_t r = 0; r < REPLICAS; ++r) {
            const slice *s = &at.more[i][r];
            digest = digest_buffer(digest, s, &parameters[i][r].weight, channels[i]);
            digest = digest_buffer(digest, s, &parameters[i][r].bias, channels[i]);
        }
        digest = digest_layer(digest, at.layers[i], NULL);
    }
    return digest;
}

/* Groups, and whether the model knows the buffers of each layer for all replicas. */
static uint64_t places(uint64_t digest)
{
    for (size_t i = 0; i < MODEL_LAYERS; ++i) {
        const size_t replicas = sbn_group_replicas(sbn_batchnorm_group(at.layers[i]));
        for (size_t r = 0; i < sbn_model_size(model) && r < replicas; ++r)
            if (model->entries[i].replicas != replicas ||
                model->entries[i].parameters[r].weight.mem != parameters[i][r].weight.mem)
                tap_ok(0, "layer %zu has another group's buffers", i);
        const int flags[] = {sbn_batchnorm_group(at.layers[i]) == at.groups[1],
                             sbn_batchnorm_is_training(at.layers[i]),
                             sbn_batchnorm_is_frozen(at.layers[i])};
        digest = sbn__digest(digest, flags, sizeof flags);
    }
    return digest;
}

static uint64_t result(void)
{
    return sbn__digest(places(values(SBN_DIGEST_START)), got, sizeof got);
}

/* --- set, read and reset ------------------------------------------------------------------- */

static int set_and_get(int number)
{
    const float weight[] = {1, 2, 3, 4, 5, 6}, bias[] = {-1, 0.5f, 0, 7, 8, 9};
    switch (number) {
    case 0: return make();
    case 1: return sbn_model_set_parameters(model, 1, weight, bias);
    case 2: return sbn_model_parameters(model, 1, got[0], got[1]);
    case 3: return sbn_model_set_frozen(model, 1);
    case 4: return sbn_model_reset_running_stats(model);
    default: return sbn_model_reset_parameters(model);
    }
}

/* Copying from and to devices may end in the middle. */
static uint64_t kept_setting(int number)
{
    return number == 0 || number == 3 || number == 4 ? result() : places(SBN_DIGEST_START);
}

/* --- moved ----------------------------------------------------------------------------------- */

static int replicate(void *context, const char *name, sbn_batchnorm *layer, size_t replica,
                     sbn_parameters *to)
{
    (void)context, (void)name;
    *to = parameters[layer == at.layers[1]][replica];
    return SBN_SUCCESS;
}

static int move(size_t to)
{
    const int was = sbn_batchnorm_group(at.layers[0]) == at.groups[to];
    undefined = 0;
    const int status = sbn_model_set_group(model, at.groups[to], replicate, NULL);
    /* An error of the last copies leaves all layers in the new group. */
    undefined = status && !was && sbn_batchnorm_group(at.layers[0]) == at.groups[to];
    return status;
}

static int move_about(int number)
{
    switch (number) {
    case 0: return make();
    case 1: return move(0);
    case 2: return sbn_model_set_training(model, 0);
    default: return move(1);
    }
}

static uint64_t kept_moving(int number)
{
    (void)number;
    return undefined ? 0 : places(SBN_DIGEST_START);
}

/* A table that is released is waited for. */
static const int survived_moving[] = {WRAP_FINISH, SURVIVED_RELEASES, -1};

/* --- files ----------------------------------------------------------------------------------- */

static char path[112];
static sbn_checkpoint *checkpoint;

static void begin_files(void)
{
    begin();
    must(make(), "sbn_model_add");
    folder_begin();
    snprintf(path, sizeof path, "%s/file", folder_root);
    must(symlink("file", folder_path("link")), "symlink");
}

static void end_files(void)
{
    end();
    sbn_checkpoint_destroy(checkpoint);
    checkpoint = NULL;
    wraps_pause();
    folder_end();
    wraps_resume();
}

/* Is it a draft that is left? An empty one may be, and one that could not be removed. */
static int is_left(const char *name)
{
    const char *draft = folder_path(name);
    struct stat info;
    if (name[0] == '.' || strcmp(name, "file") == 0 || strcmp(name, "link") == 0)
        return 0;
    if (stat(draft, &info) != 0 || (info.st_size > 0 && wraps_failed_again < 0))
        return 1;
    return unlink(draft) != 0;
}

/* The folder is empty but for the file, whose bytes these are. */
static uint64_t files(void)
{
    static unsigned char bytes[1 << 14];
    uint64_t digest = SBN_DIGEST_START;
    DIR *directory = opendir(folder_root);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (is_left(entry->d_name))
            digest = 0;
    if (directory)
        closedir(directory);
    const size_t size = folder_read(path, bytes, sizeof bytes);
    return digest ? sbn__digest(digest, bytes, size) : 1;
}

enum { LOAD = 3, FILE_STEPS = 7 };

static int look_load_save(int number)
{
    int64_t batches;
    sbn_layer_info info = SBN_LAYER_INFO_INIT;
    const sbn_load_config lenient = {sizeof lenient, 0, NULL, NULL};
    switch (number) {
    case 0: return sbn_checkpoint_create(data_path(file_of_model), &checkpoint);
    case 1: return sbn_checkpoint_layer(checkpoint, 1, &info);
    case 2: return sbn_checkpoint_read(checkpoint, 1, got[0], got[1], NULL, NULL, &batches);
    case LOAD: return sbn_model_load(model, data_path(file_of_model), &lenient);
    case 4: return sbn_model_save(model, path, NULL);
    case 5: return sbn_model_save(model, path, path);
    default: return sbn_model_save(model, folder_path("link"), data_path(file_of_model));
    }
}

static uint64_t result_of_files(void)
{
    return sbn__digest(values(files()), got, sizeof got);
}

/* Looking changes nothing. Copies to devices may end in the middle; a folder that is not synced has the new file. */
static uint64_t kept_files(int number)
{
    const int late = strstr(sbn_last_error(), "is new") != NULL;
    const uint64_t digest = files() + (checkpoint != NULL);
    return late ? 0 : number < LOAD ? values(digest) : digest;
}

/* A file that was read is closed, whatever is said of it; a draft that cannot be removed is empty. */
static const int survived_files[] = {WRAP_CLOSE, WRAP_CHOWN, WRAP_REMOVE_LIST, SURVIVED_RELEASES,
                                     -1};

const scenario model_scenarios[] = {
    SCENARIO("model", .begin = begin, .step = set_and_get, .steps = 6, .kept = kept_setting,
             .result = result, .end = end),
    SCENARIO("model moved", .begin = begin, .step = move_about, .steps = 4, .kept = kept_moving,
             .result = result, .end = end, .survived = survived_moving),
    SCENARIO("model's files", .begin = begin_files, .step = look_load_save, .steps = FILE_STEPS,
             .kept = kept_files, .result = result_of_files, .end = end_files,
             .survived = survived_files),
    {.name = NULL},
};
