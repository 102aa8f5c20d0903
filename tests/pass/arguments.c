/*
 * What is refused when groups, transports, hubs, layers and saved statistics are made or asked. Each refusal names the
 * argument, what was expected and what was got, changes nothing, and leaves the place for a handle NULL.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "support/stage.h"

static uint64_t state(void)
{
    const uint64_t digest = stage_state(); /* which closes what has ended */
    const long handles = sbn__handles_open();
    return sbn__digest(digest, &handles, sizeof handles);
}

typedef struct making_group {
    sbn_group_config config;
    sbn_transport table;
    int no_config, no_place, with_table;
} making_group;

static int create_group(const void *of)
{
    const making_group *a = of;
    sbn_group *group = (sbn_group *)&group;
    sbn_group_config config = a->config;
    config.transport = a->with_table ? &a->table : NULL;
    const int status = sbn_group_create(a->no_config ? NULL : &config, a->no_place ? NULL : &group);
    if (!status)
        return sbn_group_destroy(group);
    return group && !a->no_place ? SBN_SUCCESS : status; /* an error without NULL */
}

#define GROUP(field, value, words) ROW_OF(making_group, field, value, words)
#define OPTIONS "build_options: "

static void check_groups(void)
{
    const cl_command_queue none[] = {queue, NULL};
    making_group good = {.config = SBN_GROUP_CONFIG_INIT, .table = SBN_TRANSPORT_INIT};
    good.config.queues = &queue;
    good.config.replicas = 1;
    const refusal rows[] = {
        GROUP(no_place, 1, "group|expected|NULL"),
        GROUP(no_config, 1, "config|expected|NULL"),
        GROUP(config.size, 0, "config: size|SBN_GROUP_CONFIG_INIT|got 0"),
        GROUP(config.size, sizeof good.config + 4, "config: size|got"),
        GROUP(config.size, 8192, "config: size|got 8192"),
        GROUP(config.replicas, 0, "replicas|at least 1|got 0"),
        GROUP(config.replicas, 65536, "replicas: expected at most 65535, got 65536"),
        GROUP(config.queues, NULL, NULL),
        GROUP(config.replicas, 65535, "queues: expected 65535 queues, got NULL"),
        GROUP(config.replicas, SIZE_MAX, "replicas: expected at most 65535, got"),
        GROUP(config.timeout, 0.0, "timeout|above 0|got 0"),
        GROUP(config.timeout, -1.5, "timeout|got -1.5"),
        GROUP(config.timeout, (double)NAN, "timeout|got nan"),
        GROUP(config.on_timeout, (sbn_timeout_action)7, "on_timeout|sbn_timeout_action|got 7"),
        GROUP(config.form, (sbn_kernel_form)3, "form|sbn_kernel_form|got 3"),
        GROUP(config.queues, none, NULL),
        GROUP(config.replicas, 2, "queues[1]|command queue|got NULL"),
        GROUP(config.build_options, "-D float=nonsense",
              OPTIONS "the compiler of device|does not take|error:"),
        GROUP(config.build_options, "-w -cl-fast-relaxed-math",
              OPTIONS "\"-cl-fast-relaxed-math\" is refused: it lets the compiler re-associate"),
    };
    REFUSE("group", create_group, good, state, rows);
    const refusal of_table[] = {
        GROUP(config.replicas, 0, NULL),
        GROUP(config.build_options, "-cl-mad-enable", OPTIONS "\"-cl-mad-enable\" is refused"),
        GROUP(table.size, 0, "transport|expected|size|SBN_TRANSPORT_INIT|got 0"),
        GROUP(table.start, NULL, "transport|expected|got no start"),
        GROUP(table.test, NULL, "transport|expected|got no test"),
        GROUP(table.rank, -1, "transport|expected|got rank -1 of 2"),
        GROUP(table.rank, 2, "transport|expected|got rank 2 of 2"),
        GROUP(table.world_size, 0, "transport|expected|got rank 0 of 0"),
        GROUP(table.world_size, SBN_MAX_WORLD_SIZE + 1, "transport|expected|4095|of 4096"),
        GROUP(table.world_size, SBN_MAX_WORLD_SIZE, ""),
    };
    sbn_hub *hub;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 0, &good.table), "sbn_hub_transport");
    good.with_table = 1;
    REFUSE("transport", create_group, good, state, of_table);
    sbn_hub_destroy(hub);
    tap_ok(sbn_group_replicas(stage.group) == REPLICAS && sbn_group_rank(stage.group) == 0 &&
               sbn_group_world_size(stage.group) == 1 && sbn_group_replicas(NULL) == 0 &&
               sbn_group_rank(NULL) == 0 && sbn_group_world_size(NULL) == 0,
           "a group of two replicas, rank 0 of 1; without a group all are 0");
}

static void check_hubs(void)
{
    sbn_hub *hub = (sbn_hub *)&hub;
    sbn_transport table = SBN_TRANSPORT_INIT, strange = SBN_TRANSPORT_INIT;
    strange.size = 3;
    REFUSED(sbn_hub_create(2, NULL), "hub|got NULL");
    REFUSED(sbn_hub_create(0, &hub), "world_size|1 to 4095|got 0");
    tap_ok(hub == NULL, "hub: the handle is NULL");
    REFUSED(sbn_hub_create(4096, &hub), "world_size|got 4096");
    for (int size = 1; size <= SBN_MAX_WORLD_SIZE; size += SBN_MAX_WORLD_SIZE - 1) {
        RIGHT(sbn_hub_create(size, &hub));
        sbn_hub_destroy(hub);
    }
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    REFUSED(sbn_hub_transport(NULL, 0, &table), "hub|got NULL");
    REFUSED(sbn_hub_transport(hub, 0, NULL), "transport|got NULL");
    REFUSED(sbn_hub_transport(hub, 2, &table), "rank|0 to 1|got 2");
    REFUSED(sbn_hub_transport(hub, -1, &table), "rank|got -1");
    REFUSED(sbn_hub_transport(hub, 0, &strange), "transport: size|got 3|SBN_TRANSPORT_INIT");
    RIGHT(sbn_hub_transport(hub, 0, &table));
    /* A sum that the other rank does not join, and a part that nobody ends, end with the hub. */
    const int both[] = {0, 1};
    int64_t word = 1;
    void *request;
    must(table.start(table.context, SBN_TAG_WORDS, &word, 1, &request), "start");
    must(table.split(table.context, both, 2, 5, &strange), "split");
    sbn_hub_destroy(hub);
    sbn_hub_destroy(NULL);
}

typedef struct making_layer {
    sbn_group *group;
    sbn_batchnorm_config config;
    int no_config, no_place;
} making_layer;

static int create_layer(const void *of)
{
    const making_layer *a = of;
    sbn_batchnorm *layer = (sbn_batchnorm *)&layer;
    const int status = sbn_batchnorm_create(a->group, a->no_config ? NULL : &a->config,
                                            a->no_place ? NULL : &layer);
    if (!status)
        return sbn_batchnorm_destroy(layer);
    return layer && !a->no_place ? SBN_SUCCESS : status; /* an error without NULL */
}

#define LAYER(field, value, words) ROW_OF(making_layer, field, value, words)
#define SET(field, value, words) LAYER(config.field, value, words)
#define INVERTED "from_output: expected 0 with "
#define SLOPE "slope: expected 2^-14 to 2^14 with from_output, got"

static void check_layers(void)
{
    making_layer good = {.group = stage.group, .config = SBN_BATCHNORM_CONFIG_INIT};
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
        SET(activation, (sbn_activation)3, "activation|sbn_activation|got 3"),
        SET(slope, 1e39, "slope|finite as a float|got 1e+39"),
        SET(slope, (double)NAN, "slope|got nan"),
        SET(residual, 2, "residual|0 or 1|got 2"),
        SET(from_output, 2, "from_output|0 or 1|got 2"),
    };
    REFUSE("layer", create_layer, good, state, rows);
    good.config.from_output = 1;
    const refusal inverted[] = {
        SET(residual, 1, INVERTED "a residual, which y alone does not give back, got 1"),
        SET(activation, SBN_RELU, INVERTED "SBN_RELU, which has no inverse, got 1"),
        SET(slope, 0.0, ""), /* of no effect without a leaky ReLU */
    };
    REFUSE("from_output", create_layer, good, state, inverted);
    good.config.activation = SBN_LEAKY_RELU;
    const refusal slopes[] = {
        SET(slope, 0.0, SLOPE),       SET(slope, -0.01, SLOPE), SET(slope, 0x1.fp-15, SLOPE),
        SET(slope, 0x1.01p14, SLOPE), SET(slope, 0x1p-14, ""),  SET(slope, 0x1p14, ""),
    };
    REFUSE("a leaky ReLU from the output", create_layer, good, state, slopes);
    good.config = (sbn_batchnorm_config){.size = sizeof good.config, .channels = 3, .eps = 1e-5};
    const refusal zeros[] = {SET(eps, 0.0, "all 0|start from SBN_BATCHNORM_CONFIG_INIT")};
    REFUSE("only eps is not 0", create_layer, good, state, zeros);
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
}

void checks(void)
{
    stage_open();
    check_groups();
    check_hubs();
    check_layers();
    check_statistics();
    stage_close();
}
