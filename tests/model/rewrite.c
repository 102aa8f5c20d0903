/*
 * rewrite OLD NEW: loads the layers "1" and "4.1" of a file like tests/model/data/network_*, doubles
 * their values, counts a batch, and saves them with all that OLD holds besides. For
 * tests/model/reference.sh.
 */
#include <stdio.h>

#include "support/vectors.h"

static void take_double(sbn_model *model, size_t index)
{
    float values[4][8] = {{0}};
    int64_t batches;
    sbn_batchnorm *layer = sbn_model_layer(model, index);
    must(sbn_model_parameters(model, index, values[0], values[1]), "get");
    must(sbn_batchnorm_running_stats(layer, values[2], values[3], &batches), "get");
    for (int which = 0; which < 4; ++which)
        for (int c = 0; c < 8; ++c)
            values[which][c] *= 2;
    ++batches;
    must(sbn_model_set_parameters(model, index, values[0], values[1]), "set");
    must(sbn_batchnorm_set_running_stats(layer, values[2], values[3], &batches), "set");
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"1", "4.1"};
    fixture device;
    if (argc != 3 || fixture_open(&device))
        return 1;
    cl_command_queue queue = fixture_queue(&device, 0);
    sbn_model *model;
    sbn_batchnorm *layers[2];
    sbn_parameters parameters[2] = {SBN_PARAMETERS_INIT, SBN_PARAMETERS_INIT};
    sbn_load_config lenient = SBN_LOAD_CONFIG_INIT;
    lenient.strict = 0;
    sbn_group *group = fixture_rank(&queue, 1, NULL);
    must(sbn_model_create(&model), "sbn_model_create");
    for (size_t i = 0; i < 2; ++i) {
        sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
        layer.channels = 4 + 2 * i;
        layers[i] = fixture_layer_of(group, &layer);
        parameters[i].weight = buffer_of(&device, queue, NULL, layer.channels);
        parameters[i].bias = buffer_of(&device, queue, NULL, layer.channels);
        must(sbn_model_add(model, names[i], layers[i], &parameters[i]), "sbn_model_add");
    }
    must(sbn_model_load(model, argv[1], &lenient), "sbn_model_load");
    take_double(model, 0);
    take_double(model, 1);
    must(sbn_model_save(model, argv[2], argv[1]), "sbn_model_save");
    sbn_model_destroy(model);
    for (size_t i = 0; i < 2; ++i) {
        sbn_batchnorm_destroy(layers[i]);
        clReleaseMemObject(parameters[i].weight.mem);
        clReleaseMemObject(parameters[i].bias.mem);
    }
    sbn_group_destroy(group);
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return 0;
}
