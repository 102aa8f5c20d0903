/* PyTorch's running statistics over batches, with every kind of momentum and after a reset. */
#include <math.h>
#include <stdlib.h>

#include "support/vectors.h"

static fixture device;
static cl_command_queue queue;

/* One check: a layer's running statistics are those of `group` in the file, within a few roundings. */
static void expect_statistics(const sbn_tensor_file *file, const char *group,
                              const sbn_batchnorm *layer, int64_t batches)
{
    enum { MOST = 8 };
    float got[2][MOST];
    size_t channels;
    int64_t tracked;
    double worst = 0.0;
    must(sbn_batchnorm_running_stats(layer, got[0], got[1], &tracked), "get");
    for (int which = 0; which < 2; ++which) {
        float *expected = vectors_get(file, group, which ? "running_var" : "running_mean",
                                      &channels);
        for (size_t c = 0; c < channels; ++c) {
            const double off = fabs((double)got[which][c] - expected[c]);
            worst = off <= worst ? worst : off;
        }
        free(expected);
    }
    /* Of values below 2. */
    tap_ok(worst <= 0x1p-22 && tracked == batches, "%s: %lld batches, %g off", group,
           (long long)tracked, worst);
}

enum { TRAINED_CHANNELS = 3, TRAINED_BATCHES = 3, TRAINED_VALUES = 4 * 3 * 9 };

static void train(sbn_batchnorm *layer, const float *x)
{
    sbn_saved *saved = fixture_saved(layer);
    for (size_t b = 0; b < TRAINED_BATCHES; ++b) {
        sbn_shard shard = {.size = sizeof(sbn_shard), .dims = 3, .shape = {4, TRAINED_CHANNELS, 9}};
        shard.x = buffer_of(&device, queue, x + b * TRAINED_VALUES, TRAINED_VALUES);
        shard.y = buffer_of(&device, queue, NULL, TRAINED_VALUES);
        must(sbn_forward(layer, &shard, saved, 0, NULL), "sbn_forward");
        must(clFinish(queue), "clFinish");
        clReleaseMemObject(shard.x.mem);
        clReleaseMemObject(shard.y.mem);
    }
    sbn_saved_destroy(saved);
}

static void check_momentum(void)
{
    static const struct {
        const char *name, *reset;
        sbn_average average;
        double momentum;
    } cases[] = {{"tenth", "tenth.reset", SBN_AVERAGE_MOMENTUM, 0.1},
                 {"more", "more.reset", SBN_AVERAGE_MOMENTUM, 0.3},
                 {"none", "none.reset", SBN_AVERAGE_CUMULATIVE, 0.1}};
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    sbn_tensor_file file;
    vectors_open(&file, "trained.safetensors");
    float *x = vectors_get(&file, "", "x", NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
        sbn_batchnorm *layer;
        config.channels = TRAINED_CHANNELS;
        config.affine = 0;
        config.average = cases[i].average;
        config.momentum = cases[i].momentum;
        layer = fixture_layer_of(group, &config);
        train(layer, x);
        expect_statistics(&file, cases[i].name, layer, TRAINED_BATCHES);
        must(sbn_batchnorm_reset_running_stats(layer), "reset");
        expect_statistics(&file, cases[i].reset, layer, 0);
        sbn_batchnorm_destroy(layer);
    }
    free(x);
    sbn__tensor_file_close(&file);
    sbn_group_destroy(group);
}

int main(void)
{
    return fixture_main(&device, &queue, check_momentum);
}
