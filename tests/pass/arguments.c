/*
 * What is refused when groups, transports and hubs are made. Each refusal names the argument, what
 * was expected and what was got, and leaves the place for the handle NULL.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "support/main.h"
#include "support/refused.h"

static uint64_t state(void)
{
    return (uint64_t)sbn__handles_open();
}

typedef struct arguments {
    sbn_group_config config;
    sbn_transport table;
    int no_config, no_place, with_table;
} arguments;

static int create(const void *of)
{
    const arguments *a = of;
    sbn_group *group = (sbn_group *)&group;
    sbn_group_config config = a->config;
    config.transport = a->with_table ? &a->table : NULL;
    const int status = sbn_group_create(a->no_config ? NULL : &config, a->no_place ? NULL : &group);
    if (!status)
        return sbn_group_destroy(group);
    return group && !a->no_place ? SBN_SUCCESS : status; /* an error without NULL */
}

#define OPTIONS "build_options: "

static void check_groups(void)
{
    const cl_command_queue none[] = {queue, NULL};
    char long_options[1200];
    memset(long_options, ' ', sizeof long_options - 1);
    long_options[sizeof long_options - 1] = '\0';
    arguments good = {.config = SBN_GROUP_CONFIG_INIT, .table = SBN_TRANSPORT_INIT};
    good.config.queues = &queue;
    good.config.replicas = 1;
    const refusal rows[] = {
        ROW(no_place, 1, "group|expected|NULL"),
        ROW(no_config, 1, "config|expected|NULL"),
        ROW(config.size, 0, "config: size|SBN_GROUP_CONFIG_INIT|got 0"),
        ROW(config.size, sizeof good.config + 4, "config: size|got"),
        ROW(config.size, 8192, "config: size|got 8192"),
        ROW(config.queues, NULL, "queues|1|got NULL"),
        ROW(config.replicas, 0, "replicas|at least 1|got 0"),
        ROW(config.replicas, 65536, "replicas: expected at most 65535, got 65536"),
        ROW(config.queues, NULL, NULL),
        ROW(config.replicas, 65535, "queues: expected 65535 queues, got NULL"),
        ROW(config.replicas, SIZE_MAX, "replicas: expected at most 65535, got"),
        ROW(config.timeout, 0.0, "timeout|above 0|got 0"),
        ROW(config.timeout, -1.5, "timeout|got -1.5"),
        ROW(config.timeout, (double)NAN, "timeout|got nan"),
        ROW(config.on_timeout, (sbn_timeout_action)7, "on_timeout|sbn_timeout_action|got 7"),
        ROW(config.form, (sbn_kernel_form)3, "form|sbn_kernel_form|got 3"),
        ROW(config.queues, none, NULL),
        ROW(config.replicas, 2, "queues[1]|command queue|got NULL"),
        ROW(config.build_options, "-D this is not an option",
            OPTIONS "the compiler of device|does not take|option"),
        ROW(config.build_options, "-D float=nonsense",
            OPTIONS "the compiler of device|does not take|error:"),
        ROW(config.build_options, "-w -cl-fast-relaxed-math",
            OPTIONS "\"-cl-fast-relaxed-math\" is refused: it lets the compiler re-associate"),
        ROW(config.build_options, long_options, "build_options|got 1199"),
    };
    REFUSE("group", create, good, state, rows);
    const refusal of_table[] = {
        ROW(table.size, 0, "transport|expected|size|SBN_TRANSPORT_INIT|got 0"),
        ROW(table.start, NULL, "transport|expected|got no start"),
        ROW(table.test, NULL, "transport|expected|got no test"),
        ROW(table.rank, -1, "transport|expected|got rank -1 of 2"),
        ROW(table.rank, 2, "transport|expected|got rank 2 of 2"),
        ROW(table.world_size, 0, "transport|expected|got rank 0 of 0"),
        ROW(table.world_size, SBN_MAX_WORLD_SIZE + 1, "transport|expected|4095|of 4096"),
        ROW(table.world_size, SBN_MAX_WORLD_SIZE, ""),
    };
    sbn_hub *hub;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    must(sbn_hub_transport(hub, 0, &good.table), "sbn_hub_transport");
    good.with_table = 1;
    REFUSE("transport", create, good, state, of_table);
    sbn_hub_destroy(hub);
}

static void check_group(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_AUTO);
    tap_ok(sbn_group_replicas(group) == 1 && sbn_group_rank(group) == 0 &&
               sbn_group_world_size(group) == 1 && sbn_group_replicas(NULL) == 0 &&
               sbn_group_rank(NULL) == 0 && sbn_group_world_size(NULL) == 0,
           "a group of one replica, rank 0 of 1; without a group all are 0");
    sbn_group_destroy(group);
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

void checks(void)
{
    check_groups();
    check_group();
    check_hubs();
}
