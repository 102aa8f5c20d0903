/*
 * What is refused when layers and saved statistics are made or asked. Each refusal names the argument,
 * what was expected and what was got, and changes nothing.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "support/stage.h"

static uint64_t state(void)
{
    const uint64_t digest = stage_state(); /* which closes what has ended */
    const long handles = sbn__handles_open();
    return sbn__digest(digest, &handles, sizeof handles);
}

typedef struct making {
    sbn_group *group;
    sbn_batchnorm_config config;
    int no_config, no_place;
} making;

static int create(const void *of)
{
    const making *a = of;
    sbn_batchnorm *layer = (sbn_batchnorm *)&layer;
    const int status = sbn_batchnorm_create(a->group, a->no_config ? NULL : &a->config,
                                            a->no_place ? NULL : &layer);
    if (!status)
        return sbn_batchnorm_destroy(layer);
    return layer && !a->no_place ? SBN_SUCCESS : status; /* an error without NULL */
}

#define LAYER(field, value, words) ROW_OF(making, field, value, words)
#define SET(field, value, words) LAYER(config.field, value, words)
#define INVERTED "from_output: expected 0 with "
#define SLOPE "slope: expected 2^-14 to 2^14 with from_output, got"

static void check_settings(void)
{
    making good = {.group = stage.group, .config = SBN_BATCHNORM_CONFIG_INIT};
    good.config.channels = 3;
    const refusal rows[] = {
        LAYER(no_place, 1, "layer|got NULL"),
        LAYER(no_config, 1, "config|got NULL"),
        LAYER(group, NULL, "group|got NULL"),
        LAYER(group, (sbn_group *)stage.layer, "group|got another"),
        SET(size, 8, "config: size|got 8|SBN_BATCHNORM_CONFIG_INIT"),
        SET(channels, 0, "channels|1 to|got 0"),
        SET(channels, (size_t)1 << 31, "channels|got 2147483648"),
        SET(track_running_stats, 0, NULL),
        SET(channels, ((size_t)1 << 31) - 1, ""),
        SET(layout, (sbn_layout)2, "layout|got 2"),
        SET(eps, -1e-9, "eps|finite|got -1e-09"),
        SET(eps, (double)INFINITY, "eps|got inf"),
        SET(eps, (double)NAN, "eps|got nan"),
        SET(eps_mode, (sbn_eps_mode)2, "eps_mode|got 2"),
        SET(momentum, 1.0001, "momentum|0 to 1|got 1.0001"),
        SET(momentum, -0.1, "momentum|got -0.1"),
        SET(momentum, 1.0, ""),
        SET(momentum, (double)NAN, "momentum|got nan"),
        SET(average, (sbn_average)2, "average|got 2"),
        SET(affine, 2, "affine|0 or 1|got 2"),
        SET(track_running_stats, 2, "track_running_stats|0 or 1|got 2"),
        SET(dimensions, 4, "dimensions|0 to 3|got 4"),
        SET(dimensions, -1, "dimensions|got -1"),
        SET(type, (sbn_type)3, "type|sbn_type|got 3"),
        SET(type, (sbn_type)-1, "type|sbn_type|got -1"),
        SET(activation, (sbn_activation)3, "activation|sbn_activation|got 3"),
        SET(activation, (sbn_activation)-1, "activation|sbn_activation|got -1"),
        SET(slope, 1e39, "slope|finite as a float|got 1e+39"),
        SET(slope, (double)NAN, "slope|got nan"),
        SET(residual, 2, "residual|0 or 1|got 2"),
        SET(from_output, 2, "from_output|0 or 1|got 2"),
    };
    REFUSE("layer", create, good, state, rows);
    good.config.from_output = 1;
    const refusal inverted[] = {
        SET(residual, 1, INVERTED "a residual, which y alone does not give back, got 1"),
        SET(activation, SBN_RELU, INVERTED "SBN_RELU, which has no inverse, got 1"),
        SET(slope, 0.0, ""), /* of no effect without a leaky ReLU */
    };
    REFUSE("from_output", create, good, state, inverted);
    good.config.activation = SBN_LEAKY_RELU;
    const refusal slopes[] = {
        SET(slope, 0.0, SLOPE),       SET(slope, -0.01, SLOPE), SET(slope, 0x1.fp-15, SLOPE),
        SET(slope, 0x1.01p14, SLOPE), SET(slope, 0x1p-14, ""),  SET(slope, 0x1p14, ""),
    };
    REFUSE("a leaky ReLU from the output", create, good, state, slopes);
    good.config = (sbn_batchnorm_config){.size = sizeof good.config, .channels = 3, .eps = 1e-5};
    const refusal zeros[] = {SET(eps, 0.0, "all 0|start from SBN_BATCHNORM_CONFIG_INIT")};
    REFUSE("only eps is not 0", create, good, state, zeros);
}

static void check_statistics(void)
{
    sbn_batchnorm *const layer = stage.layer, *const no_layer = (sbn_batchnorm *)stage.group;
    const float mean[CHANNELS] = {1, 2, 3}, var[CHANNELS] = {4, 5, 6};
    const int64_t most = INT64_MAX, negative = -1;
    float got[2 * CHANNELS];
    int64_t got_batches;
    sbn_saved *saved = (sbn_saved *)layer;
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_set_running_stats(layer, mean, var, &most), "set");
    must(sbn_forward(layer, stage.right.shards, stage.saved, 0, NULL), "sbn_forward");
    stage_reset();
    must(sbn_batchnorm_set_running_stats(layer, mean, var, NULL), "set");
    got[CHANNELS] = 77;
    must(sbn_saved_stats(stage.saved, got, NULL, NULL), "sbn_saved_stats");
    tap_ok(got[CHANNELS] == 77, "saved means are as many as channels");
    const uint64_t before = state();
    REFUSED(sbn_batchnorm_set_running_stats(layer, var, mean, &negative),
            "num_batches_tracked|got -1");
    REFUSED(sbn_batchnorm_set_running_stats(no_layer, var, mean, NULL), "layer|got another");
    REFUSED(sbn_batchnorm_reset_running_stats(NULL), "layer|got NULL");
    REFUSED(sbn_batchnorm_running_stats(stage.second, got, NULL, NULL),
            "second|no running statistics");
    REFUSED(sbn_batchnorm_settings(layer, NULL), "config|NULL");
    REFUSED(sbn_batchnorm_settings(NULL, &config), "layer|NULL");
    RIGHT(sbn_batchnorm_settings(layer, &config));
    config.size = 12;
    REFUSED(sbn_batchnorm_settings(layer, &config), "config: size|got 12");
    REFUSED(sbn_batchnorm_set_group(layer, NULL), "group|got NULL");
    RIGHT(sbn_batchnorm_set_group(layer, stage.group));
    REFUSED(sbn_saved_create(layer, NULL), "saved|got NULL");
    REFUSED(sbn_saved_create(no_layer, &saved), "layer|got another");
    tap_ok(saved == NULL, "saved: the handle is NULL");
    REFUSED(sbn_saved_stats(stage.empty, got, NULL, NULL), "saved|no forward");
    REFUSED(sbn_saved_stats(NULL, got, NULL, NULL), "saved|got NULL");
    REFUSED(sbn_pass_end((sbn_pass *)stage.saved, NULL), "pass|got another");
    REFUSED(sbn_pass_end(NULL, NULL), "pass|got NULL");
    REFUSED(sbn_pass_progress(NULL, NULL), "pass|got NULL");
    REFUSED(sbn_device_check(NULL), "device|got NULL");
    tap_ok(state() == before, "refused calls leave the running statistics");
    must(sbn_batchnorm_set_running_stats(layer, NULL, mean, NULL), "set");
    must(sbn_batchnorm_running_stats(layer, got, got + CHANNELS, &got_batches), "get");
    tap_ok(!memcmp(got, mean, sizeof mean) && !memcmp(got + CHANNELS, mean, sizeof var) &&
               got_batches == INT64_MAX,
           "NULL leaves a part as it is, and the last count stays");
    must(sbn_batchnorm_reset_running_stats(layer), "reset");
    must(sbn_batchnorm_running_stats(layer, got, got + CHANNELS, &got_batches), "get");
    tap_ok(got[2] == 0.0f && got[5] == 1.0f && got_batches == 0, "reset: 0, 1, no batches");
}

void checks(void)
{
    stage_open();
    check_settings();
    check_statistics();
    stage_close();
}
