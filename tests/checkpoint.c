/*
 * Checkpoints of whole networks: files that PyTorch and the reference
 * implementation wrote are loaded; keys that do not fit are reported one by one
 * and change nothing; what is saved leaves all other tensors as they were, and
 * appears whole or not at all.
 */
#include "checkpoint.h"

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handles.h"
#include "vectors.h"

enum { LAYERS = 3, REPLICAS = 2, MOST = 24 };

static fixture device;
static cl_command_queue queue;
static sbn_group *group;
static char folder[64], path[80];

typedef struct network {
    sbn_model *model;
    sbn_batchnorm *layers[LAYERS];
    sbn_parameters parameters[LAYERS][REPLICAS];
} network;

/* The layers of tests/data/network_*: the last has no running statistics. */
static const char *const names[LAYERS] = {"1", "4.1", "6"};
static const size_t channels[LAYERS] = {4, 6, 24};

static void network_open(network *n, size_t channels_of_second, int affine)
{
    must(sbn_model_create(&n->model), "sbn_model_create");
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        config.name = names[i];
        config.channels = i == 1 ? channels_of_second : channels[i];
        config.track_running_stats = i != 2;
        config.affine = affine;
        must(sbn_batchnorm_create(group, &config, &n->layers[i]), "sbn_batchnorm_create");
        for (size_t r = 0; r < REPLICAS; ++r)
            n->parameters[i][r] = (sbn_parameters){
                buffer_of(&device, queue, NULL, config.channels),
                buffer_of(&device, queue, NULL, config.channels),
            };
        must(sbn_model_add(n->model, names[i], n->layers[i], affine ? n->parameters[i] : NULL),
             "sbn_model_add");
    }
}

static void network_close(network *n)
{
    sbn_model_destroy(n->model);
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_destroy(n->layers[i]);
        for (size_t r = 0; r < REPLICAS; ++r) {
            clReleaseMemObject(n->parameters[i][r].weight.mem);
            clReleaseMemObject(n->parameters[i][r].bias.mem);
        }
    }
}

/* All that a load could change. */
static uint64_t digest(const network *n, int with_batches)
{
    const slice s = {.queue = queue};
    uint64_t digest = DIGEST_START;
    for (size_t i = 0; i < LAYERS; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        float mean[MOST], var[MOST];
        int64_t batches = 0;
        must(sbn_batchnorm_get_config(n->layers[i], &config), "get");
        for (size_t r = 0; r < REPLICAS; ++r) {
            digest = digest_buffer(digest, &s, &n->parameters[i][r].weight, config.channels);
            digest = digest_buffer(digest, &s, &n->parameters[i][r].bias, config.channels);
        }
        if (!config.track_running_stats)
            continue;
        must(sbn_batchnorm_get_running_stats(n->layers[i], mean, var, &batches), "get");
        digest = digest_of(digest, mean, sizeof *mean * config.channels);
        digest = digest_of(digest, var, sizeof *var * config.channels);
        if (with_batches)
            digest = digest_of(digest, &batches, sizeof batches);
    }
    return digest;
}

/* Off from the float32 file by at most a share of the value, on every replica. */
static void check_loaded(const char *name, double share, int64_t batches)
{
    network n;
    sbn_tensor_file file;
    double worst = 0.0;
    int64_t tracked[2];
    network_open(&n, channels[1], 1);
    expect(sbn_model_load(n.model, data_path(name), NULL), SBN_SUCCESS, "", name);
    vectors_open(&file, "network_f32.safetensors");
    const slice s = {.queue = queue};
    for (size_t i = 0; i < LAYERS; ++i) {
        float got[4][MOST] = {{0}};
        buffer_read(&s, &n.parameters[i][REPLICAS - 1].weight, channels[i], got[0]);
        buffer_read(&s, &n.parameters[i][0].bias, channels[i], got[1]);
        if (i < 2)
            must(sbn_batchnorm_get_running_stats(n.layers[i], got[2], got[3], &tracked[i]), "get");
        for (int which = 0; which < (i < 2 ? 4 : 2); ++which) {
            static const char *const leaves[] = {"weight", "bias", "running_mean", "running_var"};
            float *expected = vectors_get(&file, names[i], leaves[which], NULL);
            for (size_t c = 0; c < channels[i]; ++c) {
                const double off = fabs((double)got[which][c] - expected[c]) / fabs(expected[c]);
                worst = off <= worst ? worst : off;
            }
            free(expected);
        }
    }
    tap_ok(worst <= share && tracked[0] == batches && tracked[1] == batches,
           "%s: %g of at most %g off, %d batches", name, worst, share, (int)tracked[0]);
    sbn_tensor_file_close(&file);
    network_close(&n);
}

/* Everything that was reported: "missing 1.weight|..." */
typedef struct reports {
    int count;
    char text[2048];
} reports;

static void note(void *context, sbn_key_problem problem, const char *key, const char *sentence)
{
    static const char *const kinds[] = {"missing", "unexpected", "shape"};
    reports *l = context;
    const size_t used = strlen(l->text);
    ++l->count;
    snprintf(l->text + used, sizeof l->text - used, "%s %s%s; ", kinds[problem], key,
             strstr(sentence, key) ? "" : " WITHOUT ITS KEY");
}

static sbn_load_config logging(reports *l, int strict)
{
    sbn_load_config config = SBN_LOAD_CONFIG_INIT;
    memset(l, 0, sizeof *l);
    config.strict = strict;
    config.report = note;
    config.context = l;
    return config;
}

static void check_log(const reports *l, int count, const char *words, const char *what)
{
    tap_ok(l->count == count && holds_words(l->text, words), "%s: expected %d (%s), came %d: %s",
           what, count, words, l->count, l->text);
}

/* A file made by hand, of one-byte zeros. */
static void write_file(const char *header, size_t data)
{
    FILE *file = fopen(path, "wb");
    const uint64_t length = strlen(header);
    for (int i = 0; i < 8; ++i)
        putc((int)(length >> 8 * i & 255), file);
    fputs(header, file);
    for (size_t i = 0; i < data; ++i)
        putc(255, file);
    fclose(file);
}

static void check_keys(void)
{
    network n;
    reports l;
    sbn_load_config config;
    /* The second layer is larger than the file's. */
    network_open(&n, 7, 1);
    uint64_t before = digest(&n, 1);
    for (int strict = 0; strict < 2; ++strict) {
        config = logging(&l, strict);
        expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config),
               SBN_KEY_MISMATCH, "4 keys|\"4.1.weight\"|[7] was expected|F32 of [6] came",
               "wrong shapes, strict or not");
        check_log(&l, 4,
                  "shape 4.1.weight|shape 4.1.bias|shape 4.1.running_mean|shape 4.1.running_var",
                  "each is reported");
    }
    tap_ok(digest(&n, 1) == before, "nothing has changed");
    network_close(&n);

    /* Layers without weight and bias, which the file has. */
    network_open(&n, channels[1], 0);
    before = digest(&n, 1);
    config = logging(&l, 1);
    expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config), SBN_KEY_MISMATCH,
           "6 keys|unexpected", "unexpected keys, strict");
    check_log(&l, 6, "unexpected 1.weight|unexpected 4.1.bias|unexpected 6.weight", "all of them");
    tap_ok(digest(&n, 1) == before, "nothing has changed");
    config = logging(&l, 0);
    expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config), SBN_SUCCESS, "",
           "unexpected keys, not strict");
    check_log(&l, 6, "unexpected 1.weight", "reported, too");
    tap_ok(digest(&n, 1) != before, "the statistics are loaded");
    network_close(&n);

    /* A file that lacks a layer and has another; and a key of its own under a layer. */
    network_open(&n, channels[1], 1);
    before = digest(&n, 1);
    write_file("{\"1.running_mean\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
               "\"1.more\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[16,17]},"
               "\"1.more.deeper\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[17,18]},"
               "\"x.running_mean\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18,22]},"
               "\"x.running_var\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[22,26]},"
               "\"x.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[26,30]},"
               "\"fc.bias\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[30,34]}}",
               34);
    config = logging(&l, 1);
    expect(sbn_model_load(n.model, path, &config), SBN_KEY_MISMATCH,
           "13 keys|\"1.weight\": missing", "missing and unexpected keys, strict");
    check_log(&l, 13,
              "missing 1.weight; missing 1.bias; missing 1.running_var; missing 4.1.weight|"
              "missing 4.1.running_var; missing 6.weight; missing 6.bias; unexpected 1.more; "
              "unexpected x.bias; unexpected x.running_mean; unexpected x.running_var; ",
              "num_batches_tracked may lack, and a dense layer's bias is nobody's");
    tap_ok(digest(&n, 1) == before, "nothing has changed");
    config = logging(&l, 0);
    expect(sbn_model_load(n.model, path, &config), SBN_SUCCESS, "", "not strict");
    float mean[4], var[4];
    int64_t tracked;
    must(sbn_batchnorm_get_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(isnan(mean[0]) && var[0] == 1.0f && tracked == 0,
           "what the file has is loaded, the rest stays");
    network_close(&n);
}

static void check_types(void)
{
    static const struct {
        const char *what, *header, *words;
        size_t data;
        int status;
    } files[] = {
        {"integers as a mean",
         "{\"1.running_mean\":{\"dtype\":\"I32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
         "\"1.running_mean\"|F32, F16 or BF16 of shape [4]|I32 of [4]", 16, SBN_KEY_MISMATCH},
        {"doubles", "{\"1.running_var\":{\"dtype\":\"F64\",\"shape\":[4],\"data_offsets\":[0,32]}}",
         "F64 of [4]", 32, SBN_KEY_MISMATCH},
        {"two dimensions",
         "{\"1.weight\":{\"dtype\":\"F32\",\"shape\":[4,1],\"data_offsets\":[0,16]}}",
         "F32 of [4, 1]", 16, SBN_KEY_MISMATCH},
        {"no channel", "{\"1.weight\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         "F32 of [0]", 0, SBN_KEY_MISMATCH},
        {"a real count",
         "{\"1.num_batches_tracked\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
         "I64 of shape []|F32 of []", 4, SBN_KEY_MISMATCH},
        {"two counts",
         "{\"1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]}}",
         "I64 of [2]", 16, SBN_KEY_MISMATCH},
        {"a negative count",
         "{\"1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}",
         "1.num_batches_tracked|-1 came", 8, SBN_INVALID_FILE},
        {"a gap", "{\"1.weight\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[1,17]}}", "gap",
         17, SBN_INVALID_FILE},
    };
    network n;
    reports l;
    network_open(&n, channels[1], 1);
    const uint64_t before = digest(&n, 1);
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        const sbn_load_config config = logging(&l, 0);
        write_file(files[i].header, files[i].data);
        const int status = sbn_model_load(n.model, path, &config);
        tap_ok(status == files[i].status && holds_words(sbn_last_error(), files[i].words) &&
                   digest(&n, 1) == before,
               "%s: %s: %s; nothing has changed", files[i].what, sbn_strerror(status),
               sbn_last_error());
    }
    expect(sbn_model_load(n.model, "there/is/none", NULL), SBN_IO_ERROR, "there/is/none|opening it",
           "no file");
    expect(sbn_model_load(n.model, NULL, NULL), SBN_INVALID_ARGUMENT, "path|NULL", "no name");
    expect(sbn_model_load(NULL, path, NULL), SBN_INVALID_ARGUMENT, "model|NULL", "no model");
    const sbn_load_config bad = {8, 1, NULL, NULL};
    expect(sbn_model_load(n.model, path, &bad), SBN_INVALID_ARGUMENT, "config: size|8 came",
           "a config of another size");
    sbn_model *blind;
    must(sbn_model_create(&blind), "sbn_model_create");
    must(sbn_model_add(blind, "1", n.layers[0], NULL), "sbn_model_add");
    expect(sbn_model_load(blind, data_path("network_f32.safetensors"), NULL), SBN_INVALID_ARGUMENT,
           "\"1\"|not told where", "a layer whose buffers are not known: load");
    expect(sbn_model_save(blind, path, NULL), SBN_INVALID_ARGUMENT, "\"1\"|not told where", "save");
    sbn_model_destroy(blind);
    network_close(&n);
}

/* The bytes of a tensor, for comparison; NULL where it is not there. */
static unsigned char *bytes_of(const sbn_tensor_file *file, const char *name, size_t *size)
{
    const sbn_tensor *tensor = sbn_tensor_header_find(&file->header, name);
    *size = tensor ? (size_t)(tensor->end - tensor->begin) : 0;
    unsigned char *bytes = tensor ? malloc(*size + 1) : NULL;
    if (bytes)
        must(sbn_tensor_read(file, tensor, 0, bytes, *size), name);
    return bytes;
}

/* How many tensors of `old` are in `path` with the same type, shape and bytes; all are aligned. */
static size_t same_tensors(const char *old, size_t *in_all)
{
    sbn_tensor_file a, b;
    size_t same = 0;
    must(sbn_tensor_file_open(&a, old), old);
    must(sbn_tensor_file_open(&b, path), path);
    for (size_t i = 0; i < a.header.count; ++i) {
        const sbn_tensor *here = &a.header.tensors[i];
        const sbn_tensor *there = sbn_tensor_header_find(&b.header, here->name);
        size_t size, size_there;
        unsigned char *x = bytes_of(&a, here->name, &size);
        unsigned char *y = bytes_of(&b, here->name, &size_there);
        same += y && size == size_there && memcmp(x, y, size) == 0 && here->type == there->type &&
                json_equal(here->shape, there->shape) &&
                (b.data + there->begin) % (there->type->bits / 8) == 0;
        free(x);
        free(y);
    }
    *in_all = b.header.count;
    sbn_tensor_file_close(&a);
    sbn_tensor_file_close(&b);
    return same;
}

/* Load, save, load: all tensors, those of layers too, are what they were, in each type. */
static void check_same(const char *name, size_t count, size_t saved)
{
    network n;
    char old[1024];
    size_t in_all;
    snprintf(old, sizeof old, "%s", data_path(name));
    network_open(&n, channels[1], 1);
    must(sbn_model_load(n.model, old, NULL), name);
    const uint64_t before = digest(&n, 1);
    expect(sbn_model_save(n.model, path, old), SBN_SUCCESS, "", "a new file with all of a base");
    const size_t same = same_tensors(old, &in_all);
    tap_ok(same == count && in_all == saved, "%s: %d of %d tensors are as they were, of %d", name,
           (int)same, (int)count, (int)in_all);
    must(sbn_model_reset_parameters(n.model), "reset");
    must(sbn_model_load(n.model, path, NULL), "load");
    tap_ok(digest(&n, 1) == before, "%s: loaded again, the same bits", name);
    network_close(&n);
}

/* Names in the folder but for "." and ".."; what is left of a failure would be one more. */
static int files_in_folder(void)
{
    DIR *directory = opendir(folder);
    int count = 0;
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        count += *entry->d_name != '.';
    if (directory)
        closedir(directory);
    return count;
}

static uint64_t digest_file(const char *name)
{
    uint64_t digest = DIGEST_START;
    FILE *file = fopen(name, "rb");
    for (int c; file && (c = getc(file)) != EOF;) {
        const unsigned char byte = (unsigned char)c;
        digest = digest_of(digest, &byte, 1);
    }
    if (file)
        fclose(file);
    return digest;
}

/* A file is rewritten in place: its mode stays, a link is followed, other tensors stay. */
static void check_rewrite(void)
{
    network n;
    struct stat info;
    char link[96];
    size_t in_all;
    const float ones[MOST] = {1, 1, 1, 1};
    const int64_t five = 5;
    network_open(&n, channels[1], 1);
    must(sbn_model_load(n.model, data_path("network_bf16.safetensors"), NULL), "load");
    must(sbn_model_save(n.model, path, data_path("network_bf16.safetensors")), "save");
    must(chmod(path, 0640), "chmod");
    snprintf(link, sizeof link, "%s/link", folder);
    must(symlink("file", link), "symlink");
    must(sbn_batchnorm_set_running_stats(n.layers[0], ones, ones, &five), "set");
    expect(sbn_model_save(n.model, link, link), SBN_SUCCESS, "",
           "a file in its own place, by a link");
    must(lstat(link, &info), "lstat");
    const int is_link = S_ISLNK(info.st_mode);
    must(stat(path, &info), "stat");
    tap_ok(is_link && (info.st_mode & 0777) == 0640, "the link is one, the mode %o",
           (unsigned)info.st_mode & 0777);
    const size_t same = same_tensors(data_path("network_bf16.safetensors"), &in_all);
    tap_ok(same == in_all - 3, "all but 3 of %d tensors are as they were: %d", (int)in_all,
           (int)same);
    unlink(link);

    /* What does not fit the file's type leaves it. */
    must(sbn_model_load(n.model, data_path("network_f16.safetensors"), NULL), "load");
    must(sbn_model_save(n.model, path, data_path("network_f16.safetensors")), "save");
    const uint64_t before = digest_file(path);
    const float large[MOST] = {1, 70000, 1, 1};
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, large, NULL), "set");
    expect(sbn_model_save(n.model, path, path), SBN_KEY_MISMATCH, "1.running_var|70000|F16",
           "a variance beyond F16");
    const float infinite[MOST] = {1, INFINITY, NAN, 1};
    tap_ok(digest_file(path) == before && files_in_folder() == 1, "the file is as it was");
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, infinite, NULL), "set");
    expect(sbn_model_save(n.model, path, path), SBN_SUCCESS, "", "infinity and NaN are values");
    network_close(&n);
}

/* Writing fails, in the middle too: the old file stays, and nothing is left beside it. */
static void check_failures(void)
{
    network n;
    struct rlimit limit, old;
    struct stat info;
    char elsewhere[96];
    network_open(&n, channels[1], 1);
    must(sbn_model_save(n.model, path, NULL), "save");
    const uint64_t before = digest_file(path);
    snprintf(elsewhere, sizeof elsewhere, "%s/none/file", folder);
    expect(sbn_model_save(n.model, elsewhere, NULL), SBN_IO_ERROR, "none/file|No such file",
           "a folder that is not there");
    expect(sbn_model_save(n.model, folder, NULL), SBN_IO_ERROR, "not a regular file", "a folder");
    expect(sbn_model_save(n.model, path, elsewhere), SBN_IO_ERROR, "none/file|opening",
           "a base that is not there");
    expect(sbn_model_save(n.model, NULL, NULL), SBN_INVALID_ARGUMENT, "path|NULL", "no name");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    must(stat(path, &info), "stat");
    const rlim_t size = (rlim_t)info.st_size;
    for (rlim_t most = 0; most < size; most += size / 5) {
        limit = (struct rlimit){most, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &limit);
        const int status = sbn_model_save(n.model, path, NULL);
        char sentence[512];
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
        setrlimit(RLIMIT_FSIZE, &old);
        tap_ok(status == SBN_IO_ERROR && strstr(sentence, "writing it") &&
                   digest_file(path) == before && files_in_folder() == 1,
               "no room after %d bytes: %s", (int)most, sentence);
    }
    network wide;
    network_open(&wide, 7, 1);
    expect(sbn_model_save(wide.model, path, path), SBN_KEY_MISMATCH, "4.1.weight|[7]|of [6] came",
           "a layer of other channels than the file's");
    tap_ok(digest_file(path) == before && files_in_folder() == 1, "the file is as it was");
    network_close(&wide);
    network_close(&n);
}

static void check_checkpoint(void)
{
    sbn_checkpoint *checkpoint;
    sbn_checkpoint_layer layer = SBN_CHECKPOINT_LAYER_INIT;
    float weight[6], mean[6], var[6];
    int64_t batches = 77;
    must(sbn_checkpoint_create(data_path("network_f16.safetensors"), &checkpoint), "create");
    tap_ok(sbn_checkpoint_size(checkpoint) == 2 && sbn_checkpoint_size(NULL) == 0,
           "two layers with running statistics");
    expect(sbn_checkpoint_get_layer(checkpoint, 1, &layer), SBN_SUCCESS, "", "the second");
    tap_ok(strcmp(layer.name, "4.1") == 0 && layer.channels == 6 &&
               strcmp(layer.type, "F16") == 0 && layer.affine && layer.tracked,
           "4.1: 6 channels of F16");
    expect(sbn_checkpoint_read(checkpoint, 1, weight, NULL, mean, var, &batches), SBN_SUCCESS, "",
           "its values");
    tap_ok(batches == 3 && weight[0] >= 0.5f && weight[5] <= 1.5f && var[0] > 0,
           "are what was made");
    expect(sbn_checkpoint_read(checkpoint, 2, NULL, NULL, NULL, NULL, NULL), SBN_INVALID_ARGUMENT,
           "index|below 2|2 came", "a third");
    layer.size = 3;
    expect(sbn_checkpoint_get_layer(checkpoint, 0, &layer), SBN_INVALID_ARGUMENT, "layer: size|3",
           "a wrong size");
    sbn_checkpoint_destroy(checkpoint);
    sbn_checkpoint_destroy(NULL);
    expect(sbn_checkpoint_create(data_path("make_files.py"), &checkpoint), SBN_INVALID_FILE,
           "make_files.py", "a file of another kind");
    tap_ok(checkpoint == NULL, "the handle is NULL");
    write_file("{\"running_mean\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]},"
               "\"running_var\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[2,6]},"
               "\".running_mean\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[6,6]},"
               "\".running_var\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[6,6]}}",
               6);
    must(sbn_checkpoint_create(path, &checkpoint), "create");
    layer.size = sizeof layer;
    must(sbn_checkpoint_get_layer(checkpoint, 0, &layer), "get");
    tap_ok(sbn_checkpoint_size(checkpoint) == 1 && *layer.name == '\0' && !layer.affine,
           "a network that is a layer itself");
    expect(sbn_checkpoint_read(checkpoint, 0, weight, NULL, mean, var, NULL), SBN_KEY_MISMATCH,
           "running_var|[1] was expected|F16 of [2] came", "whose variance has another shape");
    sbn_checkpoint_destroy(checkpoint);
}

int main(void)
{
    const char *temporary = getenv("TMPDIR");
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn_handles_open();
    snprintf(folder, sizeof folder, "%.40s/syncbn-XXXXXX", temporary ? temporary : "/tmp");
    must(mkdtemp(folder) ? CL_SUCCESS : SBN_IO_ERROR, "mkdtemp");
    snprintf(path, sizeof path, "%s/file", folder);
    queue = fixture_queue(&device, 1);
    const cl_command_queue queues[REPLICAS] = {queue, queue};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = queues;
    config.replicas = REPLICAS;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    check_loaded("network_f32.safetensors", 0.0, 3);
    check_loaded("network_f16.safetensors", 0x1p-11, 3);
    check_loaded("network_bf16.safetensors", 0x1p-8, 3);
    check_loaded("network_v1.safetensors", 0.0, 0);
    check_keys();
    check_types();
    check_same("network_f32.safetensors", 17, 17);
    check_same("network_f16.safetensors", 17, 17);
    check_same("network_bf16.safetensors", 17, 17);
    check_same("network_v1.safetensors", 15, 17);
    check_rewrite();
    check_failures();
    check_checkpoint();
    sbn_group_destroy(group);
    tap_ok(sbn_handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    unlink(path);
    tap_ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
