/*
 * What is refused when hubs and groups are made. Each refusal names the
 * argument, what was expected and what was got, and leaves the place for the
 * handle NULL.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "support/fixture.h"
#include "base/memory.h"

static fixture device;
static cl_command_queue queue;

static void refused(const sbn_group_config *config, const char *words, const char *what)
{
    sbn_group *group = (sbn_group *)&group;
    expect(sbn_group_create(config, &group), SBN_INVALID_ARGUMENT, words, what);
    tap_ok(group == NULL, "%s: the handle is NULL", what);
}

#define REFUSED_GROUP(field, value, words) \
    do { \
        sbn_group_config config = good; \
        config.field = value; \
        refused(&config, words, "group: " #field " = " #value); \
    } while (0)

static void check_groups(void)
{
    sbn_group_config good = SBN_GROUP_CONFIG_INIT;
    good.queues = &queue;
    good.replicas = 1;
    expect(sbn_group_create(&good, NULL), SBN_INVALID_ARGUMENT, "group|expected|NULL",
           "group: no place");
    refused(NULL, "config|expected|NULL", "group: no config");
    REFUSED_GROUP(size, 0, "config: size|SBN_GROUP_CONFIG_INIT|got 0");
    REFUSED_GROUP(size, sizeof good + 4, "config: size|got");
    REFUSED_GROUP(size, 8192, "config: size|got 8192");
    REFUSED_GROUP(queues, NULL, "queues|1|got NULL");
    REFUSED_GROUP(replicas, 0, "replicas|at least 1|got 0");
    REFUSED_GROUP(replicas, SBN_MAX_REPLICAS + 1, "replicas: expected at most 65535, got 65536");
    REFUSED_GROUP(replicas, SIZE_MAX / 8, "replicas: expected at most 65535, got");
    REFUSED_GROUP(replicas, SIZE_MAX, "replicas: expected at most 65535, got");
    REFUSED_GROUP(timeout, 0.0, "timeout|above 0|got 0");
    REFUSED_GROUP(timeout, -1.5, "timeout|got -1.5");
    REFUSED_GROUP(timeout, NAN, "timeout|got nan");
    REFUSED_GROUP(on_timeout, (sbn_timeout_action)7, "on_timeout|sbn_timeout_action|got 7");
    REFUSED_GROUP(form, (sbn_kernel_form)3, "form|sbn_kernel_form|got 3");
    const cl_command_queue none[] = {queue, NULL};
    good.replicas = 2;
    good.queues = none;
    refused(&good, "queues[1]|command queue|got NULL", "group: a NULL queue");
}

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    return 0;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request;
    *done = 1;
    return 0;
}

static void check_transports(void)
{
    const sbn_transport good = {.size = sizeof good, .world_size = 2, .start = start, .test = test};
    sbn_transport table = SBN_TRANSPORT_INIT;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = &table;
#define REFUSED_TABLE(field, value, words) \
    do { \
        table = good; \
        table.field = value; \
        refused(&config, "transport|expected|" words, "transport: " #field " = " #value); \
    } while (0)
    REFUSED_TABLE(size, 0, "size|SBN_TRANSPORT_INIT|got 0");
    REFUSED_TABLE(start, NULL, "got no start");
    REFUSED_TABLE(test, NULL, "got no test");
    REFUSED_TABLE(rank, -1, "got rank -1 of 2");
    REFUSED_TABLE(rank, 2, "got rank 2 of 2");
    REFUSED_TABLE(world_size, 0, "got rank 0 of 0");
    REFUSED_TABLE(world_size, SBN_MAX_WORLD_SIZE + 1, "4095|of 4096");

    sbn_hub *hub = (sbn_hub *)&hub;
    expect(sbn_hub_create(2, NULL), SBN_INVALID_ARGUMENT, "hub|got NULL", "hub: no place");
    expect(sbn_hub_create(0, &hub), SBN_INVALID_ARGUMENT, "world_size|1 to 4095|got 0", "hub: 0");
    tap_ok(hub == NULL, "hub: the handle is NULL");
    expect(sbn_hub_create(4096, &hub), SBN_INVALID_ARGUMENT, "world_size|got 4096", "hub: 4096");
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    expect(sbn_hub_transport(NULL, 0, &table), SBN_INVALID_ARGUMENT, "hub|got NULL", "no hub");
    expect(sbn_hub_transport(hub, 0, NULL), SBN_INVALID_ARGUMENT, "transport|got NULL", "no table");
    expect(sbn_hub_transport(hub, 2, &table), SBN_INVALID_ARGUMENT, "rank|0 to 1|got 2", "rank 2");
    expect(sbn_hub_transport(hub, -1, &table), SBN_INVALID_ARGUMENT, "rank|got -1", "rank -1");
    table.size = 3;
    expect(sbn_hub_transport(hub, 0, &table), SBN_INVALID_ARGUMENT,
           "transport: size|got 3|SBN_TRANSPORT_INIT", "no size");
    sbn_hub_destroy(hub);
    sbn_hub_destroy(NULL);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    queue = fixture_queue(&device, 0);
    check_groups();
    check_transports();
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    sbn_group *group;
    tap_ok(sbn__handles_open() == at_start, "no handle is left open by refused groups");
    config.build_options = "-D this is not an option";
    expect(sbn_group_create(&config, &group), SBN_INVALID_ARGUMENT,
           "build_options: the compiler of device|does not take|option",
           "options that the compiler does not take");
    tap_note("%s", sbn_last_error());
    config.build_options = "-D float=nonsense";
    expect(sbn_group_create(&config, &group), SBN_INVALID_ARGUMENT,
           "build_options: the compiler of device|does not take|error:",
           "options with which nothing compiles: the compiler's log is told");
    tap_note("%s", sbn_last_error());
    config.build_options = "-w -cl-fast-relaxed-math";
    expect(sbn_group_create(&config, &group), SBN_INVALID_ARGUMENT,
           "build_options: \"-cl-fast-relaxed-math\" is refused: it lets the compiler re-associate",
           "an option that relaxes arithmetic");
    char long_options[1200];
    memset(long_options, ' ', sizeof long_options - 1);
    long_options[sizeof long_options - 1] = '\0';
    config.build_options = long_options;
    expect(sbn_group_create(&config, &group), SBN_INVALID_ARGUMENT, "build_options|got 1199",
           "build options that are too long");
    tap_ok(group == NULL && sbn__handles_open() == at_start, "nothing is left of groups not built");
    config.build_options = NULL;
    must(sbn_group_create(&config, &group), "sbn_group_create");
    tap_ok(sbn_group_replicas(group) == 1 && sbn_group_rank(group) == 0 &&
               sbn_group_world_size(group) == 1 && sbn_group_replicas(NULL) == 0,
           "a group of one replica, rank 0 of 1");
    sbn_group_destroy(group);
    sbn_group_destroy(NULL);
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
