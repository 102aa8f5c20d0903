/* Checkpoints: inspected, loaded, saved to a new file, over another file and over themselves. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "faults/model.h"
#include "faults/scenario.h"
#include "support/folder.h"
#include "support/wraps.h"

static char path[112];
static sbn_checkpoint *checkpoint;

/* Is it a draft that is left? An empty one may be, and one that could not be removed. */
static int is_left(const char *name)
{
    const char *draft = folder_path(name);
    struct stat info;
    if (name[0] == '.' || strcmp(name, "file") == 0)
        return 0;
    if (stat(draft, &info) != 0 || (info.st_size > 0 && wraps_failed_again() < 0))
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

static void begin(void)
{
    model_begin();
    must(model_make(), "sbn_model_add");
    folder_begin();
    snprintf(path, sizeof path, "%s/file", folder_root);
}

static void end(void)
{
    model_end();
    sbn_checkpoint_destroy(checkpoint);
    checkpoint = NULL;
    wraps_pause();
    folder_end();
    wraps_resume();
}

/* Layers that the file has besides are left out. */
static int load(void)
{
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    config.strict = 0;
    return sbn_model_load(under.model, data_path("network_f16.safetensors"), &config);
}

enum { LOAD = 3, STEPS = 7 };

static int step(int number)
{
    int64_t batches;
    float(*to)[8] = under.read;
    sbn_layer_info info = SBN_LAYER_INFO_INIT;
    switch (number) {
    case 0: return sbn_checkpoint_create(data_path("network_f16.safetensors"), &checkpoint);
    case 1: return sbn_checkpoint_layer(checkpoint, 1, &info);
    case 2: return sbn_checkpoint_read(checkpoint, 1, to[0], to[1], NULL, NULL, &batches);
    case LOAD: return load();
    case 4: return sbn_model_save(under.model, path, NULL);
    case 5: return sbn_model_save(under.model, path, path);
    default: return sbn_model_save(under.model, path, data_path("network_f16.safetensors"));
    }
}

static uint64_t result(void)
{
    uint64_t digest = model_values(files(), REPLICAS);
    return sbn__digest(digest, under.read, sizeof under.read);
}

/*
 * Looking changes nothing. Copies to devices may end in the middle; a folder that is not synced has the
 * new file.
 */
static uint64_t kept(int number)
{
    const int late = strstr(sbn_last_error(), "is new") != NULL;
    const uint64_t digest = files() + (checkpoint != NULL);
    return late ? 0 : number < LOAD ? model_values(digest, REPLICAS) : digest;
}

/*
 * A file that was read is closed, whatever is said of it; a draft that cannot be removed is empty.
 */
static const int survived[] = {WRAP_CLOSE, WRAP_CHOWN, SURVIVED_RELEASES, -1};

const scenario file_scenarios[] = {
    {.name = "looking into a file, loading and saving",
     .begin = begin,
     .step = step,
     .steps = STEPS,
     .kept = kept,
     .result = result,
     .end = end,
     .survived = survived},
    {.name = NULL},
};
