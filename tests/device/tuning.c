/*
 * Tuned numbers (src/device/tuning.h): what is kept comes back; a file that is damaged, hostile,
 * another device's or another user's is as none; a group takes its numbers from $SYNCBN_TUNING or from
 * the file, and gives them to its parts.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "program/cache_folder.h"
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

static void checks(void)
{
    folder = sbn__cache_open(root);
    must(folder < 0, "sbn__cache_open");
    stored();
    damaged();
    hostile();
    groups();
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
