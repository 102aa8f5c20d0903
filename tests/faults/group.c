/* Making groups: programs from source, through an empty folder, from a filled one; splitting. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "program/cache_folder.h"
#include "group/group.h"
#include "support/folder.h"
#include "support/wraps.h"

static sbn_group *group, *parts[REPLICAS];
static sbn_batchnorm *layer;
static sbn_saved *saved;
static char folder[128];
static size_t replicas;

/* --- the folder of compiled programs --------------------------------------------------- */

static void begin_one(void)
{
    replicas = 1;
}

static void begin_cold(void)
{
    begin_one();
    folder_begin();
    snprintf(folder, sizeof folder, "%s", folder_path("cache"));
}

/* Numbers as syncbn tune keeps them. */
static void keep_tuning(const sbn_replica *replica)
{
    static const sbn_tuning tuning = {{200}};
    char name[SBN_TUNING_NAME];
    const int kept = sbn__cache_open(folder);
    must(sbn__tuning_keep(kept, replica->device, replica->form, &tuning, name) ? 0 : 1,
         "sbn__tuning_keep");
    sbn__cache_close(kept);
}

static void begin_warm(void)
{
    begin_cold();
    sbn_group *filler;
    must(stand_group(1, folder, &filler), "sbn_group_create");
    keep_tuning(&filler->replicas[0]);
    sbn_group_destroy(filler);
}

/* --- a group, and a pass of it ----------------------------------------------------------- */

static int pass(sbn_group *of, const sbn_shard *shards)
{
    must(stand_layer(of, "layer", &layer), "sbn_batchnorm_create");
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    return sbn_forward(layer, shards, saved, 0, NULL);
}

static void end_pass(void)
{
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    saved = NULL;
    layer = NULL;
}

/* Of a forward pass: which programs work is all that a cache may not change. */
static uint64_t result(void)
{
    if (!group)
        return 0;
    const sbn_shard shards[] = {at.slices[0].shard, at.slices[1].shard, at.slices[2].shard};
    stand_reset(replicas);
    must(pass(group, shards), "sbn_forward");
    const uint64_t digest = stand_outputs(SBN_DIGEST_START, replicas);
    end_pass();
    return digest;
}

static int create_from_source(int step)
{
    (void)step;
    return stand_group(replicas, "", &group);
}

static int create_in_folder(int step)
{
    (void)step;
    /* Elsewhere this is set and empty: no file is read. */
    unsetenv("SYNCBN_TUNING");
    const int status = stand_group(1, folder, &group);
    setenv("SYNCBN_TUNING", "", 1);
    return status;
}

/* Another group has its programs. */
static sbn_group *keeper;

static void begin_three(void)
{
    replicas = REPLICAS;
    must(stand_group(REPLICAS, NULL, &keeper), "sbn_group_create");
}

static void end_group(void)
{
    sbn_group_destroy(group);
    group = NULL;
}

static void end_three(void)
{
    end_group();
    wraps_pause();
    sbn_group_destroy(keeper);
    wraps_resume();
}

static void end_in_folder(void)
{
    end_group();
    wraps_pause();
    folder_end();
    wraps_resume();
}

/* Failures of the cache's folder do not matter: programs are compiled. A failed query may. */
static const int no_cache[] = {WRAP_ALLOCATE,
                               WRAP_CREATE_BINARY,
                               WRAP_BUILD,
                               WRAP_PLATFORM_INFO,
                               WRAP_DEVICE_INFO,
                               WRAP_PROGRAM_INFO,
                               WRAP_GROUP_INFO,
                               WRAP_OPEN,
                               WRAP_CREATE_KERNELS,
                               WRAP_OPENAT,
                               WRAP_MKDIR,
                               WRAP_STAT,
                               WRAP_READ_FILE,
                               WRAP_WRITE_FILE,
                               WRAP_CLOSE,
                               WRAP_RENAME,
                               WRAP_UNLINK,
                               SURVIVED_RELEASES,
                               -1};
/* Where the programs are there, what a device is asked must be known. */
static const int only_releases[] = {WRAP_RELEASE_BUFFER, WRAP_RELEASE_EVENT, WRAP_RELEASE_KERNEL,
                                    WRAP_RELEASE_PROGRAM, -1};

/* --- splitting ----------------------------------------------------------------------------- */

static int split(int step)
{
    const int colours[REPLICAS] = {0, 1, 0};
    if (step == 0)
        return stand_group(REPLICAS, NULL, &group);
    return sbn_group_split(group, colours, parts);
}

static uint64_t split_result(void)
{
    if (!parts[0])
        return 0;
    const size_t sizes[] = {sbn_group_replicas(parts[0]), sbn_group_replicas(parts[1])};
    uint64_t digest = sbn__digest(SBN_DIGEST_START, sizes, sizeof sizes);
    for (size_t i = 0; i < 2; ++i) {
        const sbn_shard shards[] = {at.slices[i].shard, at.slices[2].shard};
        stand_reset(REPLICAS);
        must(pass(parts[i], shards), "sbn_forward");
        digest = stand_outputs(digest, REPLICAS);
        end_pass();
    }
    return digest;
}

/* An error makes no group. */
static uint64_t split_kept(int step)
{
    (void)step;
    return 1 + (parts[0] || parts[1] || parts[2]);
}

static void end_split(void)
{
    for (size_t r = 0; r < REPLICAS; ++r)
        sbn_group_destroy(parts[r]);
    memset(parts, 0, sizeof parts);
    end_group();
}

/* --- the hub ------------------------------------------------------------------------------- */

static sbn_hub *hub;

static int make_hub(int step)
{
    (void)step;
    return sbn_hub_create(REPLICAS, &hub);
}

static uint64_t hub_result(void)
{
    sbn_transport transport = SBN_TRANSPORT_INIT;
    must(sbn_hub_transport(hub, 2, &transport), "sbn_hub_transport");
    return 1 + (uint64_t)transport.world_size;
}

static void end_hub(void)
{
    sbn_hub_destroy(hub);
    hub = NULL;
}

/* A group that could not be made is none. */
static uint64_t no_group(int step)
{
    (void)step;
    return 1 + (group != NULL);
}

#define GROUP(create) .step = create, .steps = 1, .kept = no_group, .result = result

const scenario group_scenarios[] = {
    {.name = "group of three replicas",
     .begin = begin_three,
     GROUP(create_from_source),
     .end = end_three,
     .survived = only_releases},
    {.name = "group compiled", .begin = begin_one, GROUP(create_from_source), .end = end_group},
    {.name = "group, cache cold",
     .begin = begin_cold,
     GROUP(create_in_folder),
     .end = end_in_folder,
     .survived = no_cache},
    {.name = "group, cache warm",
     .begin = begin_warm,
     GROUP(create_in_folder),
     .end = end_in_folder,
     .survived = no_cache},
    {.name = "hub", .step = make_hub, .steps = 1, .result = hub_result, .end = end_hub},
    {.name = "group split",
     .step = split,
     .steps = 2,
     .kept = split_kept,
     .result = split_result,
     .end = end_split},
    {.name = NULL},
};
