/*
 * Checkpoints of whole networks: files that PyTorch and the reference implementation wrote are
 * loaded into every replica, and inspected without a model.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/file_network.h"
#include "support/refused.h"

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
    vectors_open(&file, "network_f32.safetensors");
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
               strcmp(layer.type, "F16") == 0 && layer.affine && layer.tracked,
           "4.1: 6 channels of F16");
    expect(sbn_checkpoint_read(checkpoint, 1, weight, NULL, mean, var, &batches), SBN_SUCCESS, "",
           "its values");
    tap_ok(batches == 3 && weight[0] >= 0.5f && weight[5] <= 1.5f && var[0] > 0,
           "are what was made");
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
        "{\"running_mean\":{\"dtype\":\"BF16\",\"shape\":[1],\"data_offsets\":[0,2]},"
        "\"running_var\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[2,4]},"
        "\"weight\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[4,8]},"
        "\"x.running_mean\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[8,10]},"
        "\"x.running_var\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[10,12]},"
        "\"y.running_var\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[12,12]},"
        "\".running_mean\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[12,12]},"
        "\".running_var\":{\"dtype\":\"F16\",\"shape\":[0],\"data_offsets\":[12,12]}}",
        12);
    must(sbn_checkpoint_create(file_network_path, &checkpoint), "create");
    layer.size = sizeof layer;
    must(sbn_checkpoint_layer(checkpoint, 0, &layer), "get");
    tap_ok(sbn_checkpoint_size(checkpoint) == 2 && *layer.name == '\0' && layer.affine,
           "a network that is a layer itself");
    expect(sbn_checkpoint_read(checkpoint, 0, weight, NULL, mean, var, NULL), SBN_KEY_MISMATCH,
           "\"weight\"|of shape [1], got F16 of [2]", "whose weight has another shape");
    must(sbn_checkpoint_read(checkpoint, 1, NULL, NULL, mean, NULL, NULL), "read");
    must(sbn_checkpoint_read(checkpoint, 1, weight, var, NULL, NULL, &batches), "read");
    must(sbn_checkpoint_layer(checkpoint, 1, &layer), "get");
    tap_ok(!layer.affine && weight[0] == 1 && weight[1] != 1 && var[0] == 0 && isnan(mean[0]) &&
               batches == 0,
           "a layer without weight, bias and count: 1, 0, none");
    sbn_checkpoint_destroy(checkpoint);
}

/* Numbers are compared by value, whatever comes behind them; a file may have names in any order. */
static void check_order(void)
{
    static const char *const names[] = {"bn01",      "bn1",        "bn01_a",   "bn1_a",
                                        "bn002",     "bn10",       "bnx",      "conv1_bn",
                                        "conv2_bn",  "conv2_bn_a", "conv9_bn", "conv9bn",
                                        "conv10_bn", "conv11_bn"};
    enum { NAMES = sizeof names / sizeof *names };
    char header[4096] = "{";
    sbn_checkpoint *checkpoint;
    sbn_layer_info layer = SBN_LAYER_INFO_INIT;
    for (size_t i = 0, at = 1; i < NAMES; ++i)
        for (int which = 0; which < 2; ++which)
            at += (size_t)sprintf(header + at,
                                  "\"%s.running_%s\":{\"dtype\":\"F32\",\"shape\":[0],"
                                  "\"data_offsets\":[0,0]}%s",
                                  names[5 * i % NAMES], which ? "var" : "mean",
                                  i + 1 < NAMES || !which ? "," : "}");
    file_network_write(header, 0);
    must(sbn_checkpoint_create(file_network_path, &checkpoint), "create");
    for (size_t i = 0; i < NAMES; ++i) {
        must(sbn_checkpoint_layer(checkpoint, i, &layer), "get");
        tap_ok(strcmp(layer.name, names[i]) == 0, "layer %d: expected %s, got %s", (int)i, names[i],
               layer.name);
    }
    sbn_checkpoint_destroy(checkpoint);
}

/* A rank that only takes part has running statistics to load, and no weight to save. */
static void check_none(void)
{
    sbn_load_config lenient = SBN_LOAD_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    sbn_hub *hub;
    sbn_model *model;
    int64_t batches = 0;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 1, &transport), "sbn_hub_transport");
    lenient.strict = 0;
    sbn_group *one_rank = fixture_rank(NULL, 0, &transport);
    sbn_batchnorm *layer = fixture_layer(one_rank, file_network_channels[0]);
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, file_network_names[0], layer, NULL), "sbn_model_add");
    expect(sbn_model_load(model, data_path("network_f32.safetensors"), &lenient), SBN_SUCCESS, "",
           "loaded without a replica");
    must(sbn_batchnorm_running_stats(layer, NULL, NULL, &batches), "get");
    tap_ok(batches == 3, "its statistics are");
    REFUSED(sbn_model_save(model, file_network_path, NULL), "\"1\"|this rank has no replica");
    sbn_model_destroy(model);
    sbn_batchnorm_destroy(layer);
    sbn_group_destroy(one_rank);
    sbn_hub_destroy(hub);
}

void checks(void)
{
    file_network_begin();
    check_loaded("network_f32.safetensors", 0.0, 3);
    check_loaded("network_f16.safetensors", 0x1p-11, 3);
    check_loaded("network_bf16.safetensors", 0x1p-8, 3);
    check_loaded("network_v1.safetensors", 0.0, 0);
    check_checkpoint();
    check_order();
    check_none();
    file_network_end();
}
