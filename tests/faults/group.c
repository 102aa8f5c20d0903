/* Making groups: programs from source, through an empty folder, from a filled one; splitting. */
#include <stdio.h>
#include <stdlib.h>

#include "faults/scenario.h"
#include "faults/stand.h"
#include "program/cache.h"
#include "group/group.h"
#include "support/folder.h"
#include "support/wraps.h"

/* --- a group, and a pass of it ----------------------------------------------------------- */

/* Of compiled programs; empty: there is none. */
static char folder[128];

static int create(int step)
{
    (void)step;
    /* Elsewhere this is set and empty: no file is read. */
    unsetenv("SYNCBN_TUNING");
    const int status = STAND_GROUP(0, .program_cache = folder);
    setenv("SYNCBN_TUNING", "", 1);
    return status;
}

/* A forward pass by the layer of this number. */
static uint64_t pass(size_t i, sbn_group *group, const sbn_shard *shards, uint64_t digest)
{
    slices_reset(at.slices, REPLICAS);
    must(stand_both(i, group), "sbn_saved_create");
    must(sbn_forward(at.layers[i], shards, at.saved[i], 0, NULL), "sbn_forward");
    return stand_outputs(digest, at.slices, REPLICAS);
}

/* Which programs work is all that a cache may not change. */
static uint64_t result(void)
{
    const sbn_shard shards[] = {at.slices[0].shard, at.slices[1].shard, at.slices[2].shard};
    return pass(0, at.groups[0], shards, SBN_DIGEST_START);
}

/* A group that could not be made is none. */
static uint64_t no_group(int step)
{
    (void)step;
    return 1 + (at.groups[0] != NULL);
}

/* --- the folder of compiled programs --------------------------------------------------- */

static void begin_cold(void)
{
    folder_begin();
    snprintf(folder, sizeof folder, "%s", folder_path("cache"));
}

/* Numbers as syncbn tune keeps them. */
static void keep_tuning(const sbn_replica *replica)
{
    static const sbn_tuning tuning = {{200}};
    char name[SBN_CACHE_NAME];
    const int kept = sbn__cache_open(folder, 1);
    must(sbn__tuning_keep(kept, replica->device, replica->form, &tuning, name) ? 0 : 1,
         "sbn__tuning_keep");
    sbn__cache_close(kept);
}

static void begin_warm(void)
{
    begin_cold();
    must(create(0), "sbn_group_create");
    keep_tuning(&at.groups[0]->replicas[0]);
    stand_end();
}

static void end_in_folder(void)
{
    stand_end();
    wraps_pause();
    folder_end();
    wraps_resume();
    *folder = '\0';
}

/* Failures of the cache's folder do not matter: programs are compiled. A failed query may. */
static const int no_cache[] = {WRAP_OPEN,           WRAP_OPENAT,       WRAP_MKDIR,
                               WRAP_STAT,           WRAP_READ_FILE,    WRAP_WRITE_FILE,
                               WRAP_CLOSE,          WRAP_RENAME,       WRAP_UNLINK,
                               WRAP_PLATFORM_INFO,  WRAP_PROGRAM_INFO, WRAP_GROUP_INFO,
                               WRAP_ALLOCATE,       WRAP_BUILD,        WRAP_CREATE_BINARY,
                               WRAP_CREATE_KERNELS, SURVIVED_RELEASES, -1};

/* --- three replicas, and splitting ------------------------------------------------------- */

static sbn_group **const parts = &at.groups[1];

/* Another group has the programs. */
static void begin_three(void)
{
    stand_begin(GROUPS - 1, REPLICAS);
}

static int split(int step)
{
    const int colours[REPLICAS] = {0, 1, 0};
    return step == 0 ? STAND_GROUP(0, .replicas = REPLICAS)
                     : sbn_group_split(at.groups[0], colours, parts);
}

static uint64_t split_result(void)
{
    uint64_t digest = result();
    for (size_t i = 0; i < 2 && parts[i]; ++i) {
        const sbn_shard shards[] = {at.slices[i].shard, at.slices[2].shard};
        const size_t of_part = sbn_group_replicas(parts[i]);
        digest = pass(1 + i, parts[i], shards, sbn__digest(digest, &of_part, sizeof of_part));
    }
    return digest;
}

/* An error makes no group. */
static uint64_t split_kept(int step)
{
    return step == 0 ? no_group(0) : (uint64_t)1 + (parts[0] || parts[1] || parts[2]);
}

/* Where the programs are there, what a device is asked must be known. */
static const int only_releases[] = {WRAP_RELEASE_BUFFER, WRAP_RELEASE_EVENT, WRAP_RELEASE_KERNEL,
                                    WRAP_RELEASE_PROGRAM, -1};

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

#define GROUP .step = create, .steps = 1, .kept = no_group, .result = result

const scenario group_scenarios[] = {
    SCENARIO("group compiled", GROUP, .end = stand_end),
    SCENARIO("group, cache cold", GROUP, .begin = begin_cold, .end = end_in_folder,
             .survived = no_cache),
    SCENARIO("group, cache warm", GROUP, .begin = begin_warm, .end = end_in_folder,
             .survived = no_cache),
    SCENARIO("hub", .step = make_hub, .steps = 1, .result = hub_result, .end = end_hub),
    SCENARIO("group of three replicas, split", .begin = begin_three, .step = split, .steps = 2,
             .kept = split_kept, .result = split_result, .end = stand_end,
             .survived = only_releases),
    {.name = NULL},
};
