/* Keys that do not fit a model are reported one by one, strict or not, and what is refused changes nothing. */
#include <stdio.h>
#include <string.h>

#include "support/file_network.h"
#include "support/refused.h"

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
    tap_ok(l->count == count && holds_words(l->text, words), "%s: expected %d (%s), got %d: %s",
           what, count, words, l->count, l->text);
}

static void check_keys(void)
{
    network n;
    reports l;
    sbn_load_config config;
    /* The second layer is larger than the file's. */
    file_network_open(&n, 7, 1);
    uint64_t before = network_digest(&n);
    for (int strict = 0; strict < 2; ++strict) {
        config = logging(&l, strict);
        expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config),
               SBN_KEY_MISMATCH, "4 keys do not fit|\"4.1.weight\"|[7], got F32 of [6]",
               "wrong shapes, strict or not");
        check_log(&l, 4,
                  "shape 4.1.weight|shape 4.1.bias|shape 4.1.running_mean|shape 4.1.running_var",
                  "each is reported");
    }
    tap_ok(network_digest(&n) == before, "nothing has changed");
    network_close(&n);

    /* Layers without weight and bias, which the file has. */
    file_network_open(&n, file_network_channels[1], 0);
    before = network_digest(&n);
    config = logging(&l, 1);
    expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config), SBN_KEY_MISMATCH,
           "6 keys|unexpected", "unexpected keys, strict");
    check_log(&l, 6, "unexpected 1.weight|unexpected 4.1.bias|unexpected 6.weight", "all of them");
    tap_ok(network_digest(&n) == before, "nothing has changed");
    config = logging(&l, 0);
    expect(sbn_model_load(n.model, data_path("network_f32.safetensors"), &config), SBN_SUCCESS, "",
           "unexpected keys, not strict");
    check_log(&l, 6, "unexpected 1.weight", "reported, too");
    tap_ok(network_digest(&n) != before, "the statistics are loaded");
    network_close(&n);

    /* A file that lacks a layer and has another; and a key of its own under a layer. */
    file_network_open(&n, file_network_channels[1], 1);
    before = network_digest(&n);
    const char *const file =
        "{\"1.running_mean\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},"
        "\"1.more\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[16,17]},"
        "\"1.more.deeper\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[17,18]},"
        "\"x.running_mean\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18,22]},"
        "\"x.running_var\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[22,26]},"
        "\"x.weight\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[26,30]},"
        "\"fc.running_mean\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[30,30]},"
        "\"fd.running_var\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[30,34]},"
        "\"4.1.num_batches_tracked\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[34,42]}}";
    vectors_write(file_network_path, file, strlen(file), 127, 42);
    config = logging(&l, 1);
    expect(sbn_model_load(n.model, file_network_path, &config), SBN_KEY_MISMATCH,
           "13 keys|\"1.weight\": missing", "missing and unexpected keys, strict");
    check_log(&l, 13,
              "missing 1.weight; missing 1.bias; missing 1.running_var; missing 4.1.weight|"
              "missing 4.1.running_var; missing 6.weight; missing 6.bias; unexpected 1.more; "
              "unexpected x.running_mean; unexpected x.running_var; unexpected x.weight; ",
              "num_batches_tracked may lack, and a mean or a variance alone is nobody's");
    tap_ok(network_digest(&n) == before, "nothing has changed");
    config = logging(&l, 0);
    float mean[4], var[4];
    int64_t tracked = 7, alone;
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, NULL, &tracked), "set");
    expect(sbn_model_load(n.model, file_network_path, &config), SBN_SUCCESS, "", "not strict");
    must(sbn_batchnorm_running_stats(n.layers[0], mean, var, &tracked), "get");
    must(sbn_batchnorm_running_stats(n.layers[1], NULL, NULL, &alone), "get");
    tap_ok(mean[0] > 3e38f && var[0] == 1.0f && tracked == 7 && alone == 0x7f7f7f7f7f7f7f7f,
           "what the file has is loaded, the rest stays");
    network_close(&n);
}

/* A header of one tensor, and its bytes of data. */
#define ONE(name, type, shape, bytes) \
    "{\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":[0," #bytes "]}}", \
        bytes

static void check_types(void)
{
    static const struct {
        const char *what, *header;
        size_t data;
        int status;
        const char *words;
    } files[] = {
        {"integers as a mean", ONE("1.running_mean", "I32", "[4]", 16), SBN_KEY_MISMATCH,
         "\"1.running_mean\"|F32, F16 or BF16 of shape [4]|I32 of [4]"},
        {"doubles", ONE("1.running_var", "F64", "[4]", 32), SBN_KEY_MISMATCH,
         "1 key does not fit the model: \"1.running_var\"|F64 of [4]"},
        {"two dimensions", ONE("1.weight", "F32", "[4,1]", 16), SBN_KEY_MISMATCH, "F32 of [4, 1]"},
        {"no channel, twice",
         "{\"1.weight\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]},"
         "\"1.bias\":{\"dtype\":\"F32\",\"shape\":[0],\"data_offsets\":[0,0]}}",
         0, SBN_KEY_MISMATCH, "2 keys do not fit the model: \"1.weight\"|F32 of [0], ..."},
        {"a real count", ONE("1.num_batches_tracked", "F32", "[]", 4), SBN_KEY_MISMATCH,
         "I64 of shape []|F32 of []"},
        {"two counts", ONE("1.num_batches_tracked", "I64", "[2]", 16), SBN_KEY_MISMATCH,
         "I64 of [2]"},
        {"a count in a table", ONE("1.num_batches_tracked", "I64", "[1,1]", 8), SBN_KEY_MISMATCH,
         "I64 of [1, 1]"},
        {"a negative count", ONE("1.num_batches_tracked", "I64", "[1]", 8), SBN_INVALID_FILE,
         "1.num_batches_tracked|got -1"},
        {"a gap", "{\"1.weight\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[1,17]}}", 17,
         SBN_INVALID_FILE, "gap"},
    };
    network n;
    reports l;
    file_network_open(&n, file_network_channels[1], 1);
    const uint64_t before = network_digest(&n);
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        const sbn_load_config config = logging(&l, 0);
        file_network_write(files[i].header, files[i].data);
        const int status = sbn_model_load(n.model, file_network_path, &config);
        tap_ok(status == files[i].status && holds_words(sbn_last_error(), files[i].words) &&
                   network_digest(&n) == before,
               "%s: %s: %s; nothing has changed", files[i].what, sbn_strerror(status),
               sbn_last_error());
    }
    expect(sbn_model_load(n.model, "there/is/none", NULL), SBN_IO_ERROR, "there/is/none|opening it",
           "no file");
    REFUSED(sbn_model_load(n.model, NULL, NULL), "path|NULL");
    REFUSED(sbn_model_load(NULL, file_network_path, NULL), "model|NULL");
    const sbn_load_config bad = {8, 1, NULL, NULL};
    REFUSED(sbn_model_load(n.model, file_network_path, &bad), "config: size|got 8");
    sbn_model *blind;
    must(sbn_model_create(&blind), "sbn_model_create");
    must(sbn_model_add(blind, "1", n.layers[0], NULL), "sbn_model_add");
    REFUSED(sbn_model_load(blind, data_path("network_f32.safetensors"), NULL),
            "\"1\"|not told where");
    REFUSED(sbn_model_save(blind, file_network_path, NULL), "\"1\"|not told where");
    sbn_model_destroy(blind);
    network_close(&n);
}

void checks(void)
{
    file_network_begin();
    check_keys();
    check_types();
    file_network_end();
}
