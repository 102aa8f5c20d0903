/*
 * Checkpoints of whole networks: files that PyTorch and the reference implementation wrote are loaded into every
 * replica, and inspected without a model. Keys that do not fit a model are reported one by one, strict or not, and
 * what is refused changes nothing. Every value of the 16-bit types (src/safetensors/half.h) is read and written; how
 * floats between two are rounded: tests/pass/storage, by devices.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "safetensors/half.h"
#include "support/file_network.h"
#include "support/refused.h"

/* --- values --- */

/* Halves by their definition, and back, of a NaN its payload, too; bfloats to floats and back. */
static void check_half(void)
{
    int wrong = 0, wrong_back = 0, wrong_bfloat = 0;
    for (unsigned bits = 0; bits < 0x10000; ++bits) {
        const unsigned exponent = bits >> 10 & 31, mantissa = bits & 1023;
        double value = exponent == 31  ? mantissa ? NAN : INFINITY
                       : exponent == 0 ? ldexp(mantissa, -24)
                                       : ldexp(1024 + mantissa, (int)exponent - 25);
        if (bits & 0x8000)
            value = -value;
        const float got = sbn__float_of_half((uint16_t)bits);
        wrong += isnan(value) ? !isnan(got) : got != value || !signbit(got) != !signbit(value);
        const uint16_t back = sbn__half_of_float(got);
        wrong_back += back != (isnan(got) ? bits | 0x200 : bits);
        const float wide = sbn__float_of_bfloat((uint16_t)bits);
        const uint16_t narrow = sbn__bfloat_of_float(wide);
        wrong_bfloat += narrow != (isnan(wide) ? bits | 0x40 : bits);
    }
    tap_ok(!wrong && !wrong_back, "65536 halves: %d read wrongly, %d written wrongly", wrong,
           wrong_back);
    tap_ok(!wrong_bfloat, "65536 bfloats: %d wrong", wrong_bfloat);
    tap_ok(sbn__half_of_float(65519.996f) == 0x7bff && sbn__half_of_float(65520.0f) == 0x7c00 &&
               sbn__half_of_float(-INFINITY) == 0xfc00,
           "the largest half, and beyond");
}

/* Off from the float32 file by at most a fraction of the value, on every replica. */
static void check_loaded(const char *name, double fraction, int64_t batches)
{
    network n;
    sbn_tensor_file file;
    double worst = 0.0;
    int64_t tracked[2] = {77, 77};
    file_network_open(&n, file_network_channels[1], 1);
    for (size_t i = 0; i < 2; ++i)
        must(sbn_batchnorm_set_running_stats(n.layers[i], NULL, NULL, &tracked[i]), "set");
    expect(sbn_model_load(n.model, data_path(name), NULL), SBN_SUCCESS, "", name);
    must(sbn__tensor_file_open(&file, data_path("network_f32.safetensors")), "open");
    for (size_t i = 0; i < LAYERS; ++i) {
        float got[4][MOST] = {{0}};
        buffer_read(&file_network_slice, &n.parameters[i][REPLICAS - 1].weight,
                    file_network_channels[i], got[0]);
        buffer_read(&file_network_slice, &n.parameters[i][0].bias, file_network_channels[i],
                    got[1]);
        if (i < 2)
            must(sbn_batchnorm_running_stats(n.layers[i], got[2], got[3], &tracked[i]), "get");
        for (int which = 0; which < (i < 2 ? 4 : 2); ++which) {
            static const char *const leaves[] = {"weight", "bias", "running_mean", "running_var"};
            float *expected = vectors_get(&file, file_network_names[i], leaves[which], NULL);
            for (size_t c = 0; c < file_network_channels[i]; ++c) {
                const double off = fabs((double)got[which][c] - expected[c]) / fabs(expected[c]);
                worst = off <= worst ? worst : off;
            }
            free(expected);
        }
    }
    tap_ok(worst <= fraction && tracked[0] == batches && tracked[1] == batches,
           "%s: %g of at most %g off, %d batches", name, worst, fraction, (int)tracked[0]);
    sbn__tensor_file_close(&file);
    network_close(&n);
}

static void check_checkpoint(void)
{
    sbn_checkpoint *checkpoint, *checkpoint_of_none;
    sbn_layer_info layer = SBN_LAYER_INFO_INIT;
    float weight[6], mean[6], var[6];
    int64_t batches = 77;
    must(sbn_checkpoint_create(data_path("network_f16.safetensors"), &checkpoint), "create");
    tap_ok(sbn_checkpoint_size(checkpoint) == 2 && sbn_checkpoint_size(NULL) == 0,
           "two layers with running statistics");
    expect(sbn_checkpoint_layer(checkpoint, 1, &layer), SBN_SUCCESS, "", "the second");
    tap_ok(strcmp(layer.name, "4.1") == 0 && layer.channels == 6 &&
               strcmp(layer.type, "F16") == 0 && layer.affine && layer.tracked &&
               layer.has_weight && layer.has_bias,
           "4.1: 6 channels of F16");
    RIGHT(sbn_checkpoint_read(checkpoint, 1, weight, NULL, mean, var, &batches));
    tap_ok(batches == 3 && weight[0] >= 0.5f && weight[5] <= 1.5f && var[0] > 0,
           "its values are what was made");
    REFUSED(sbn_checkpoint_read(checkpoint, 2, NULL, NULL, NULL, NULL, NULL),
            "index|below 2|got 2");
    REFUSED(sbn_checkpoint_create(NULL, &checkpoint_of_none), "path|NULL");
    REFUSED(sbn_checkpoint_create(file_network_path, NULL), "checkpoint|NULL");
    REFUSED(sbn_checkpoint_layer(NULL, 0, &layer), "checkpoint|NULL");
    REFUSED(sbn_checkpoint_layer(checkpoint, 0, NULL), "layer|NULL");
    layer.size = 3;
    REFUSED(sbn_checkpoint_layer(checkpoint, 0, &layer), "layer: size|3");
    sbn_checkpoint_destroy(checkpoint);
    REFUSED(sbn_checkpoint_destroy(checkpoint), "checkpoint|destroyed");
    expect(sbn_checkpoint_create(data_path("make_files.py"), &checkpoint), SBN_INVALID_FILE,
           "make_files.py", "a file of another kind");
    tap_ok(checkpoint == NULL, "the handle is NULL");
    file_network_write(
        "running_mean BF16 [1] 2; running_var F16 [1] 2; weight F16 [2] 4; "
        "x.running_mean F16 [1] 2; x.running_var F16 [1] 2; y.running_var F16 [0] 0; "
        ".running_mean F16 [0] 0; .running_var F16 [0] 0",
        255);
    must(sbn_checkpoint_create(file_network_path, &checkpoint), "create");
    layer.size = sizeof layer;
    must(sbn_checkpoint_layer(checkpoint, 0, &layer), "get");
    tap_ok(sbn_checkpoint_size(checkpoint) == 2 && *layer.name == '\0' && layer.affine &&
               layer.has_weight && !layer.has_bias,
           "a network that is a layer itself, with a weight and no bias");
    expect(sbn_checkpoint_read(checkpoint, 0, weight, NULL, mean, var, NULL), SBN_KEY_MISMATCH,
           "\"weight\"|of shape [1], got F16 of [2]", "whose weight has another shape");
    must(sbn_checkpoint_read(checkpoint, 1, NULL, NULL, mean, NULL, NULL), "read");
    must(sbn_checkpoint_read(checkpoint, 1, weight, var, NULL, NULL, &batches), "read");
    must(sbn_checkpoint_layer(checkpoint, 1, &layer), "get");
    tap_ok(!layer.affine && !layer.has_weight && !layer.has_bias && weight[0] == 1 &&
               weight[1] != 1 && var[0] == 0 && isnan(mean[0]) && batches == 0,
           "a layer without weight, bias and count: 1, 0, none");
    sbn_checkpoint_destroy(checkpoint);
}

/* Numbers are compared by value, whatever comes behind them; a file may have names in any order. */
static void check_order(void)
{
    static const char *const names[] = {"bn01",      "bn1",        "bn01.a",   "bn1.a",
                                        "bn002",     "bn10",       "bnx",      "conv1_bn",
                                        "conv2_bn",  "conv2_bn_a", "conv9_bn", "conv9bn",
                                        "conv10_bn", "conv11_bn"};
    enum { NAMES = sizeof names / sizeof *names };
    char tensors[2048];
    sbn_checkpoint *checkpoint;
    sbn_layer_info layer = SBN_LAYER_INFO_INIT;
    for (size_t i = 0, at = 0; i < NAMES; ++i) {
        const char *name = names[5 * i % NAMES];
        at += (size_t)sprintf(tensors + at, "%s.running_mean F32 [0] 0; %s.running_var F32 [0] 0; ",
                              name, name);
    }
    file_network_write(tensors, 255);
    must(sbn_checkpoint_create(file_network_path, &checkpoint), "create");
    for (size_t i = 0; i < NAMES; ++i) {
        must(sbn_checkpoint_layer(checkpoint, i, &layer), "get");
        tap_ok(strcmp(layer.name, names[i]) == 0, "layer %d: expected %s, got %s", (int)i, names[i],
               layer.name);
    }
    sbn_checkpoint_destroy(checkpoint);
}

static const sbn_load_config lenient = {sizeof lenient, 0, NULL, NULL};

/* A rank that only takes part has running statistics to load, and no weight to save. */
static void check_none(void)
{
    sbn_model *model;
    const life l = LIVE_WITH(GROUP_WITH(NULL, .transport = &fixture_unanswered),
                             .channels = file_network_channels[0]);
    must(sbn_model_create(&model), "sbn_model_create");
    RIGHT(sbn_model_load(model, data_path("network_f32.safetensors"), &lenient)); /* no layers */
    must(sbn_model_add(model, file_network_names[0], l.layer, NULL), "sbn_model_add");
    expect(sbn_model_load(model, data_path("network_f32.safetensors"), &lenient), SBN_SUCCESS, "",
           "loaded without a replica");
    tap_ok(fixture_batches(l.layer) == 3, "its statistics are");
    REFUSED(sbn_model_save(model, file_network_path, NULL), "\"1\"|this rank has no replica");
    sbn_model_destroy(model);
    fixture_die(&l);
}

/* --- keys that do not fit --- */

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

/* Loads a file: what comes of it, and what is reported. A success alone changes something. */
static void check_load(const network *n, const char *path, int strict, int status,
                       const char *words, int count, const char *reported, const char *what)
{
    reports l = {0};
    const sbn_load_config config = {sizeof config, strict, note, &l};
    const uint64_t before = network_digest(n);
    expect(sbn_model_load(n->model, path, &config), status, words, what);
    tap_ok(l.count == count && holds_words(l.text, reported), "%s: expected %d (%s), got %d: %s",
           what, count, reported, l.count, l.text);
    tap_ok((network_digest(n) == before) == (status != SBN_SUCCESS), "%s: %s has changed", what,
           status ? "nothing" : "something");
}

static void check_keys(void)
{
    const char *usual = data_path("network_f32.safetensors");
    network n;
    /* The second layer is larger than the file's. */
    file_network_open(&n, 7, 1);
    for (int strict = 0; strict < 2; ++strict)
        check_load(&n, usual, strict, SBN_KEY_MISMATCH,
                   "4 keys do not fit|\"4.1.weight\"|[7], got F32 of [6]", 4,
                   "shape 4.1.weight|shape 4.1.bias|shape 4.1.running_mean|shape 4.1.running_var",
                   "wrong shapes, strict or not");
    network_close(&n);

    /* Layers without weight and bias, which the file has. */
    file_network_open(&n, file_network_channels[1], 0);
    check_load(&n, usual, 1, SBN_KEY_MISMATCH, "6 keys|unexpected", 6,
               "unexpected 1.weight|unexpected 4.1.bias|unexpected 6.weight",
               "unexpected keys, strict");
    check_load(&n, usual, 0, SBN_SUCCESS, "", 6, "unexpected 1.weight",
               "unexpected keys, not strict");
    network_close(&n);

    /* A file that lacks a layer and has another; and a key of its own under a layer. */
    file_network_open(&n, file_network_channels[1], 1);
    file_network_write("1.running_mean F32 [4] 16; 1.more U8 [1] 1; 1.more.deeper U8 [1] 1; "
                       "x.running_mean F32 [1] 4; x.running_var F32 [1] 4; x.weight F32 [1] 4; "
                       "fc.running_mean U8 [0] 0; fd.running_var F32 [1] 4; "
                       "4.1.num_batches_tracked I64 [] 8",
                       127);
    /* num_batches_tracked may lack, and a mean or a variance alone is nobody's. */
    check_load(&n, file_network_path, 1, SBN_KEY_MISMATCH, "13 keys|\"1.weight\": missing", 13,
               "missing 1.weight; missing 1.bias; missing 1.running_var; missing 4.1.weight|"
               "missing 4.1.running_var; missing 6.weight; missing 6.bias; unexpected 1.more; "
               "unexpected x.running_mean; unexpected x.running_var; unexpected x.weight; ",
               "missing and unexpected keys, strict");
    float mean[4], var[4];
    int64_t tracked = 7;
    must(sbn_batchnorm_set_running_stats(n.layers[0], NULL, NULL, &tracked), "set");
    check_load(&n, file_network_path, 0, SBN_SUCCESS, "", 13, "", "not strict");
    must(sbn_batchnorm_running_stats(n.layers[0], mean, var, &tracked), "get");
    tap_ok(mean[0] > 3e38f && var[0] == 1.0f && tracked == 7 &&
               fixture_batches(n.layers[1]) == 0x7f7f7f7f7f7f7f7f,
           "what the file has is loaded, the rest stays");
    file_network_write("1.running_mean F32 [4] 16; 1.running_var F32 [4] 16", 127);
    check_load(&n, file_network_path, 0, SBN_SUCCESS, "", 8, "missing 1.weight; missing 1.bias",
               "statistics without a count, not strict");
    must(sbn_batchnorm_running_stats(n.layers[0], NULL, var, &tracked), "get");
    tap_ok(var[0] > 3e38f && tracked == 7, "the count stays: %d", (int)tracked);
    network_close(&n);
}

static void check_types(void)
{
    static const struct {
        const char *what, *tensors, *words;
        int is_invalid; /* the file; or it does not fit */
    } files[] = {
        {"integers as a mean", "1.running_mean I32 [4] 16",
         "\"1.running_mean\"|F32, F16 or BF16 of shape [4]|I32 of [4]", 0},
        {"doubles", "1.running_var F64 [4] 32",
         "1 key does not fit the model: \"1.running_var\"|F64 of [4]", 0},
        {"two dimensions", "1.weight F32 [4,1] 16", "F32 of [4,1]", 0},
        {"no channel, twice", "1.weight F32 [0] 0; 1.bias F32 [0] 0",
         "2 keys do not fit the model: \"1.weight\"|F32 of [0], ...", 0},
        {"a real count", "1.num_batches_tracked F32 [] 4", "I64 of shape []|F32 of []", 0},
        {"two counts", "1.num_batches_tracked I64 [2] 16", "I64 of [2]", 0},
        {"a count in a table", "1.num_batches_tracked I64 [1,1] 8", "I64 of [1,1]", 0},
        {"a negative count", "1.num_batches_tracked I64 [1] 8", "1.num_batches_tracked|got -1", 1},
        {"a header that lies", "1.weight F32 [4] 17", "F32 of [4]|got 17", 1},
    };
    network n;
    file_network_open(&n, file_network_channels[1], 1);
    const uint64_t before = network_digest(&n);
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        file_network_write(files[i].tensors, 255);
        expect(sbn_model_load(n.model, file_network_path, &lenient),
               files[i].is_invalid ? SBN_INVALID_FILE : SBN_KEY_MISMATCH, files[i].words,
               files[i].what);
        tap_ok(network_digest(&n) == before, "%s: nothing has changed", files[i].what);
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
    check_half();
    file_network_begin();
    check_loaded("network_f32.safetensors", 0.0, 3);
    check_loaded("network_f16.safetensors", 0x1p-11, 3);
    check_loaded("network_bf16.safetensors", 0x1p-8, 3);
    check_loaded("network_v1.safetensors", 0.0, 0);
    check_checkpoint();
    check_order();
    check_none();
    check_keys();
    check_types();
    file_network_end();
}
