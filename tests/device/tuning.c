/*
 * Tuned numbers (src/device/tuning.h): what is kept comes back; a file that is damaged, hostile,
 * another device's or another user's is as none; a group takes its numbers from $SYNCBN_TUNING or from
 * the file, and gives them to its parts; and no number, however extreme, makes a plan that leaves
 * something out.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "device/cache_folder.h"
#include "device/launch_plan.h"
#include "group/group.h"
#include "support/fixture.h"
#include "support/wraps.h"

enum { MOST = 8192, CHECKSUM = 17, HOSTILE = 20000 };

static fixture device;
static cl_command_queue queue;
static char root[256], file_name[SBN_TUNING_NAME];
static int folder;

static const char *path_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

/* The numbers in the file for the device; "none" if there is no such file. */
static const char *kept(sbn_kernel_form form)
{
    static char text[SBN_TUNING_TEXT];
    sbn_tuning tuning;
    if (!sbn__tuning_load(folder, device.device, form, &tuning))
        return "none";
    sbn__tuning_print(&tuning, text);
    return text;
}

static int keep(const char *numbers)
{
    sbn_tuning tuning;
    char sentence[256];
    return sbn__tuning_parse(numbers, &tuning, sentence, sizeof sentence) &&
           sbn__tuning_keep(folder, device.device, SBN_FORM_CPU, &tuning, file_name);
}

static int is_kept(const char *numbers)
{
    return strcmp(kept(SBN_FORM_CPU), numbers) == 0;
}

static size_t read_kept(char bytes[MOST])
{
    FILE *file = fopen(path_of(file_name), "rb");
    const size_t size = file ? fread(bytes, 1, MOST, file) : 0;
    if (file)
        fclose(file);
    return size;
}

static void write_kept(const char *bytes, size_t size)
{
    FILE *file = fopen(path_of(file_name), "wb");
    if (file) {
        fwrite(bytes, 1, size, file);
        fclose(file);
    }
}

static void parsed(void)
{
    static const char *const wrong[] = {"groups",
                                        "groups=",
                                        "groups=0",
                                        "groups=10001",
                                        "groups=-1",
                                        "groups=+1",
                                        "groups= 1",
                                        "groups=1 ",
                                        "groups=0x10",
                                        "groups=4294967396",
                                        "groups=18446744073709551716",
                                        "groups=1,groups=1",
                                        "groups=1,",
                                        ",groups=1",
                                        ",",
                                        "groups=1;apply=1",
                                        "group=1",
                                        "groups2=1",
                                        "Groups=1",
                                        "=1"};
    char sentence[256], text[SBN_TUNING_TEXT];
    sbn_tuning tuning;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const int good = sbn__tuning_parse(wrong[i], &tuning, sentence, sizeof sentence);
        tap_ok(!good && strstr(sentence, "each once and from 1 to 10000, got \"") &&
                   memcmp(&tuning, &(sbn_tuning){{0}}, sizeof tuning) == 0,
               "\"%s\" is refused: %s", wrong[i], sentence);
    }
    tap_ok(sbn__tuning_parse("apply=10000,cache=1,groups=100", &tuning, sentence,
                             sizeof sentence) &&
               tuning.percent[SBN_TUNED_APPLY] == 10000 && tuning.percent[SBN_TUNED_CACHE] == 1,
           "any order");
    sbn__tuning_print(&tuning, text);
    tap_ok(strcmp(text, "apply=10000,cache=1") == 0, "printed: %s", text);
    tap_ok(sbn__tuned(&tuning, SBN_TUNED_APPLY, 7) == 700 &&
               sbn__tuned(&tuning, SBN_TUNED_CACHE, 1099) == 10 &&
               sbn__tuned(&tuning, SBN_TUNED_CACHE, 3) == 1 &&
               sbn__tuned(&tuning, SBN_TUNED_REDUCE, 3) == 3,
           "percent of what is planned, 1 at least");
    tap_ok(sbn__tuning_parse("", &tuning, sentence, sizeof sentence) &&
               sbn__tuned(&tuning, SBN_TUNED_APPLY, 7) == 7,
           "nothing: the plan's");
}

static void stored(void)
{
    static const char other_driver[] = "another driver";
    static const cl_uint other_units = 77;
    struct stat s;
    tap_ok(is_kept("none"), "no file");
    tap_ok(keep("groups=200,cache=50") && is_kept("groups=200,cache=50"), "kept");
    tap_ok(stat(path_of(file_name), &s) == 0 && (s.st_mode & 0777) == 0600,
           "in a file of this user alone");
    tap_ok(strcmp(kept(SBN_FORM_GPU), "none") == 0, "not for the other form");
    wraps_device_says(CL_DRIVER_VERSION, other_driver, sizeof other_driver);
    tap_ok(is_kept("none"), "not for another driver");
    wraps_device_says(0, NULL, 0);
    wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &other_units, sizeof other_units);
    tap_ok(is_kept("none"), "not for other compute units");
    wraps_device_says(0, NULL, 0);
    tap_ok(keep("apply=400") && is_kept("apply=400"), "kept anew");
    tap_ok(sbn__tuning_forget(folder, device.device, SBN_FORM_CPU) && is_kept("none"), "forgotten");
    tap_ok(sbn__tuning_forget(folder, device.device, SBN_FORM_CPU), "forgotten again");
    sbn_tuning tuning;
    tap_ok(!sbn__tuning_load(-1, device.device, SBN_FORM_CPU, &tuning), "no folder");
}

/* Every length that the file may be cut to, every byte that may change, and what is no file of ours. */
static void damaged(void)
{
    char bytes[MOST], target[512];
    keep("groups=200");
    const size_t size = read_kept(bytes);
    int cut = 0, changed = 0;
    for (size_t i = 0; i < size; ++i) {
        write_kept(bytes, i);
        cut += !is_kept("none");
        bytes[i] ^= (char)(1 << i % 8);
        write_kept(bytes, size);
        changed += !is_kept("none");
        bytes[i] ^= (char)(1 << i % 8);
    }
    tap_ok(size > CHECKSUM && !cut && !changed,
           "%zu bytes: cut %d times, changed %d times, and taken", size, cut, changed);
    bytes[size] = '\n';
    write_kept(bytes, size + 1);
    tap_ok(is_kept("none"), "a byte too many");
    memset(bytes, 'x', sizeof bytes);
    write_kept(bytes, sizeof bytes);
    tap_ok(is_kept("none"), "a file too large");
    keep("groups=200");
    chmod(path_of(file_name), 0622);
    tap_ok(is_kept("none"), "a file that others may write");
    chmod(path_of(file_name), 0600);
    chmod(root, 0770);
    const int open_to_all = sbn__cache_find(root);
    chmod(root, 0700);
    tap_ok(open_to_all < 0, "a folder that others may write to");
    snprintf(target, sizeof target, "%s", path_of("target"));
    tap_ok(rename(path_of(file_name), target) == 0 && symlink(target, path_of(file_name)) == 0 &&
               is_kept("none"),
           "a link to a right file");
    unlink(path_of(file_name));
    alarm(60); /* opening a pipe would wait for ever */
    tap_ok(mkfifo(path_of(file_name), 0600) == 0 && is_kept("none"), "a pipe that nobody writes");
    alarm(0);
    unlink(path_of(file_name));
    tap_ok(mkdir(path_of(file_name), 0700) == 0 && is_kept("none"), "a folder in its place");
    sbn_tuning tuning = {{200}};
    tap_ok(!sbn__tuning_keep(folder, device.device, SBN_FORM_CPU, &tuning, file_name) &&
               !sbn__tuning_forget(folder, device.device, SBN_FORM_CPU),
           "which is neither replaced nor removed, and both say so");
    rmdir(path_of(file_name));
    unlink(target);
    if (geteuid() == 0) {
        keep("groups=200");
        chmod(path_of(file_name), 0600);
        tap_ok(chown(path_of(file_name), 1, (gid_t)-1) == 0 && is_kept("none"),
               "another user's file");
        unlink(path_of(file_name));
    } else {
        keep("groups=200");
        chmod(path_of(file_name), 0);
        tap_ok(is_kept("none"), "a file that cannot be read");
        unlink(path_of(file_name));
    }
}

/* Any bytes between a right head and a right checksum: taken only where they are right numbers. */
static void hostile(void)
{
    static const char letters[] = "groups=reducslicesapplycache,,==0123456789 \n\\%n";
    char bytes[MOST], before[SBN_TUNING_TEXT];
    uint64_t random = 88172645463325252u;
    int wrong = 0, taken = 0;
    keep("groups=200");
    const size_t head = read_kept(bytes) - CHECKSUM - strlen("groups=200\n");
    for (int i = 0; i < HOSTILE; ++i) {
        sbn_tuning tuning;
        char sentence[256], numbers[64];
        size_t count = 0;
        random ^= random << 13, random ^= random >> 7, random ^= random << 17;
        if (random % 3 == 0)
            count = (size_t)snprintf(numbers, sizeof numbers, "slices=%u,apply=%u",
                                     (unsigned)(random >> 8 & 0x3fff),
                                     (unsigned)(random >> 24 & 0x3fff));
        for (size_t more = random >> 40 & 15; more > 0 && random % 3; --more) {
            random ^= random << 13, random ^= random >> 7, random ^= random << 17;
            numbers[count++] = random & 64 ? letters[(random >> 8) % (sizeof letters - 1)]
                                           : (char)(random >> 16);
        }
        memcpy(bytes + head, numbers, count);
        bytes[head + count] = '\n';
        snprintf(bytes + head + count + 1, 64, "%016" PRIx64 "\n",
                 sbn__digest(SBN_DIGEST_START, bytes, head + count + 1));
        write_kept(bytes, head + count + 1 + CHECKSUM);
        numbers[count] = '\0';
        const int right = strlen(numbers) == count &&
                          sbn__tuning_parse(numbers, &tuning, sentence, sizeof sentence);
        if (right)
            sbn__tuning_print(&tuning, before);
        wrong += !is_kept(right ? before : "none");
        taken += right;
    }
    tap_ok(wrong == 0 && taken > HOSTILE / 100 && taken < HOSTILE / 2,
           "%d files of any numbers: %d right ones, %d times not as they are", HOSTILE, taken,
           wrong);
    unlink(path_of(file_name));
}

static int make(sbn_group **group, sbn_kernel_form form)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.form = form;
    config.program_cache = root;
    return sbn_group_create(&config, group);
}

/* What a new group has, and its part. */
static void expect_group(const char *numbers, const char *what)
{
    static const int colour = 3;
    sbn_group *group, *part;
    char text[2][SBN_TUNING_TEXT];
    must(make(&group, SBN_FORM_CPU), "sbn_group_create");
    setenv("SYNCBN_TUNING", "reduce=7", 1);
    must(sbn_group_split(group, &colour, &part), "sbn_group_split");
    unsetenv("SYNCBN_TUNING");
    sbn__tuning_print(&group->replicas->tuning, text[0]);
    sbn__tuning_print(&part->replicas->tuning, text[1]);
    tap_ok(strcmp(text[0], numbers) == 0 && strcmp(text[1], numbers) == 0, "%s: %s, its part: %s",
           what, text[0], text[1]);
    must(sbn_group_destroy(part), "sbn_group_destroy");
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

static void groups(void)
{
    sbn_group *group = NULL;
    expect_group("", "a group without a file");
    keep("apply=300");
    expect_group("apply=300", "with one");
    setenv("SYNCBN_TUNING", "groups=50,slices=20", 1);
    expect_group("groups=50,slices=20", "with $SYNCBN_TUNING");
    setenv("SYNCBN_TUNING", "", 1);
    expect_group("", "with an empty one");
    setenv("SYNCBN_TUNING", "groups=fast", 1);
    expect(make(&group, SBN_FORM_CPU), SBN_INVALID_ARGUMENT,
           "SYNCBN_TUNING: expected NAME=PERCENT,... of groups, reduce, slices, apply, cache, each "
           "once and from 1 to 10000, got \"groups=fast\"",
           "a wrong one");
    tap_ok(group == NULL, "and no group");
    unsetenv("SYNCBN_TUNING");
    unlink(path_of(file_name));
    rmdir(path_of("none"));
    tap_ok(sbn__cache_find(path_of("none")) < 0 && access(path_of("none"), F_OK) != 0,
           "a folder that is missing is not made to look for a file");
}

/* Work-groups and what each takes cover the shape, and no more than a device counts. */
static int covers(const sbn_shape *shape, const sbn_replica *replica)
{
    const sbn_reduce_plan reduce = sbn__plan_reduce(shape, replica, 8);
    const sbn_apply_plan apply = sbn__plan_apply(shape, replica);
    const int by_samples = reduce.reduction == SBN_REDUCE_NCHW && reduce.strip > 1;
    const size_t units = by_samples ? shape->samples : shape->channel_blocks;
    int good = reduce.strip * reduce.work_groups[0] >= shape->channels &&
               (size_t)reduce.slices * reduce.per_slice >= units && reduce.slices <= 256 &&
               (size_t)(reduce.slices - 1) * reduce.per_slice < units &&
               reduce.work_groups[1] == reduce.slices;
    const size_t width = shape->channels * (shape->layout == SBN_LAYOUT_NCHW ? shape->plane : 1);
    if (apply.walk == SBN_WALK_ROWS)
        good = good && apply.length * width == shape->elements &&
               apply.work_groups[1] * apply.per_work_group >= apply.length;
    else if (apply.walk == SBN_WALK_FLAT)
        good = good && apply.length * apply.work_groups[1] == shape->elements &&
               apply.work_groups[0] * apply.per_work_group >= apply.length;
    else
        good = good && apply.work_groups[0] == shape->channels &&
               apply.work_groups[1] * apply.per_work_group >= shape->plane &&
               apply.work_groups[2] == shape->samples;
    return good && apply.work_groups[1] <= 65535 && apply.per_work_group > 0;
}

static void plans(void)
{
    static const size_t shapes[][3] = {{32, 64, 12544}, {32, 2048, 49}, {1024, 1024, 1},
                                       {1, 3, 1000003}, {2, 5, 17},     {1, 1, 1},
                                       {700000, 3, 1},  {3, 70000, 2}};
    static const uint32_t percents[] = {1, 3, 50, 200, 10000};
    static const size_t units[] = {1, 2, 304};
    int wrong = 0, differ = 0, count = 0;
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        sbn_shape shape;
        const size_t *extents = shapes[i / 2];
        const sbn_layout layout = i % 2 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW;
        const sbn_shard shard = {.size = sizeof shard,
                                 .dims = 3,
                                 .shape = {extents[0], extents[1], extents[2]}};
        must(sbn__shape_of(&shape, &shard, extents[1], layout, SBN_F32, "shape"), "sbn__shape_of");
        for (size_t k = 0; k < 2 * sizeof units / sizeof *units; ++k) {
            sbn_replica replica = {.form = k % 2 ? SBN_FORM_GPU : SBN_FORM_CPU,
                                   .compute_units = units[k / 2],
                                   .cache_size = 1 << 24};
            const sbn_reduce_plan reduce = sbn__plan_reduce(&shape, &replica, 8);
            const sbn_apply_plan apply = sbn__plan_apply(&shape, &replica);
            wrong += !covers(&shape, &replica);
            for (int n = 0; n < SBN_TUNED * 5; ++n, ++count) {
                replica.tuning = (sbn_tuning){{0}};
                replica.tuning.percent[n / 5] = percents[n % 5];
                const sbn_reduce_plan other = sbn__plan_reduce(&shape, &replica, 8);
                const sbn_apply_plan another = sbn__plan_apply(&shape, &replica);
                wrong += !covers(&shape, &replica);
                differ += memcmp(&other, &reduce, sizeof reduce) != 0 ||
                          memcmp(&another, &apply, sizeof apply) != 0;
            }
            for (int p = 0; p < 5; ++p) {
                for (int n = 0; n < SBN_TUNED; ++n)
                    replica.tuning.percent[n] = percents[p];
                wrong += !covers(&shape, &replica);
            }
        }
    }
    tap_ok(wrong == 0 && differ > count / 4, "%d plans, %d differ, %d do not cover their shape",
           count, differ, wrong);
}

static void checks(void)
{
    folder = sbn__cache_open(root);
    must(folder < 0, "sbn__cache_open");
    parsed();
    stored();
    damaged();
    hostile();
    groups();
    plans();
    sbn__cache_close(folder);
}

int main(void)
{
    char command[300];
    const char *temporary = getenv("TMPDIR");
    unsetenv("SYNCBN_TUNING");
    snprintf(root, sizeof root, "%.200s/syncbn-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(root))
        return 1;
    const int status = fixture_main(&device, &queue, checks);
    snprintf(command, sizeof command, "rm -rf '%s'", root);
    return system(command) == 0 ? status : 1;
}
