/*
 * Tuned numbers (src/device/tuning.h): what is kept comes back; a file that is hostile or another device's is as
 * none; a group takes its numbers from $SYNCBN_TUNING or from the file, and gives them to its parts.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "program/cache.h"
#include "group/group.h"
#include "support/folder.h"
#include "support/main.h"
#include "support/wraps.h"

/* Where a file has the size of its key, and the key. */
enum { MOST = 8192, KEY_SIZE = 16, KEY = 40 };

/* LeakSanitizer of GCC 12 crashes at the end of this program where PoCL has two threads. */
__attribute__((constructor)) static void begin(void)
{
    fixture_one_thread();
}

static char file_name[SBN_CACHE_NAME];
static int folder;

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

static void stored(void)
{
    static const char other_device[] = "another device";
    static const cl_uint other_units = 77;
    tap_ok(is_kept("none"), "no file");
    tap_ok(keep("groups=290,cache=50") && is_kept("groups=290,cache=50"), "kept");
    tap_ok(strcmp(kept(SBN_FORM_GPU), "none") == 0, "not for the other form");
    wraps_device_says(CL_DEVICE_NAME, other_device, sizeof other_device);
    tap_ok(is_kept("none"), "not for another device");
    wraps_device_says(0, NULL, 0);
    wraps_device_says(CL_DEVICE_MAX_COMPUTE_UNITS, &other_units, sizeof other_units);
    tap_ok(is_kept("none"), "not for other compute units");
    wraps_device_says(0, NULL, 0);
    tap_ok(keep("apply=400") && is_kept("apply=400"), "kept anew");
    errno = 0;
    tap_ok(sbn__tuning_forget(folder, device.device, SBN_FORM_CPU) && is_kept("none"), "forgotten");
    tap_ok(sbn__tuning_forget(folder, device.device, SBN_FORM_CPU), "forgotten again");
    sbn_tuning tuning = {{200}};
    tap_ok(!sbn__tuning_keep(folder, NULL, SBN_FORM_CPU, &tuning, file_name) &&
               !sbn__tuning_forget(folder, NULL, SBN_FORM_CPU),
           "no device");
    tap_ok(!sbn__tuning_load(-1, device.device, SBN_FORM_CPU, &tuning) && !tuning.percent[0],
           "no folder");
}

/* What is damaged is as none: tests/device/cache.c. */
static void in_the_way(void)
{
    const sbn_tuning tuning = {{200}};
    must(mkdir(folder_path(file_name), 0700), "mkdir");
    tap_ok(is_kept("none") &&
               !sbn__tuning_keep(folder, device.device, SBN_FORM_CPU, &tuning, file_name) &&
               !sbn__tuning_forget(folder, device.device, SBN_FORM_CPU),
           "a folder in its place is neither taken, replaced nor removed, and both say so");
    rmdir(folder_path(file_name));
}

/* Of the right key, in a right file: taken only where they are right numbers. */
static void hostile(void)
{
    static struct {
        unsigned char numbers[24];
        int right;
    } files[] = {{"slices=20,apply=300", 1}, {"", 1}, {"groups=0", 0}, {"groups=1\n", 0}};
    unsigned char bytes[MOST];
    uint64_t key_size;
    keep("groups=200");
    folder_read(folder_path(file_name), bytes, MOST);
    memcpy(&key_size, bytes + KEY_SIZE, sizeof key_size);
    const sbn_bytes key = {bytes + KEY, (size_t)key_size};
    for (size_t i = 0; i < sizeof files / sizeof *files; ++i) {
        const char *numbers = (const char *)files[i].numbers;
        sbn_bytes value = {files[i].numbers, strlen(numbers)};
        sbn__cache_store(folder, "tuning", &key, &value);
        tap_ok(is_kept("none"), "a file of \"%s\" without its end", numbers);
        ++value.size;
        sbn__cache_store(folder, "tuning", &key, &value);
        tap_ok(is_kept(files[i].right ? numbers : "none"), "a file of \"%s\": %s", numbers,
               kept(SBN_FORM_CPU));
    }
    unlink(folder_path(file_name));
}

static int make(sbn_group **group)
{
    return MAKE_GROUP(group, &queue, .form = SBN_FORM_CPU, .program_cache = folder_root);
}

/* What a new group has, and its part. */
static void expect_group(const char *numbers, const char *what)
{
    static const int colour = 3;
    sbn_group *group, *part;
    char text[2][SBN_TUNING_TEXT];
    must(make(&group), "sbn_group_create");
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
    expect(make(&group), SBN_INVALID_ARGUMENT,
           "SYNCBN_TUNING: expected NAME=PERCENT,... of groups, reduce, slices, apply, cache, each "
           "once and from 1 to 10000, got \"groups=fast\"",
           "a wrong one");
    tap_ok(group == NULL, "and no group");
    unsetenv("SYNCBN_TUNING");
    unlink(folder_path(file_name));
    rmdir(folder_path("none"));
    tap_ok(sbn__cache_open(folder_path("none"), 0) < 0 && access(folder_path("none"), F_OK) != 0,
           "a folder that is missing is not made to look for a file");
    must(make(&group), "sbn_group_create"); /* which keeps the programs */
    sbn_group *none = GROUP_WITH(&queue, .form = SBN_FORM_CPU, .program_cache = folder_path("none"),
                                 .build_options = "");
    tap_ok(access(folder_path("none"), F_OK) != 0, "nor by a group that finds its programs");
    tap_ok(none->config.program_cache == none->program_cache &&
               none->config.build_options == none->build_options,
           "a group has its own copies of the strings");
    must(sbn_group_destroy(none), "sbn_group_destroy");
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

void checks(void)
{
    wraps_build_anew = 1;
    unsetenv("SYNCBN_TUNING");
    folder_begin();
    close(0); /* the lowest number is a folder's, too */
    folder = sbn__cache_open(folder_root, 1);
    must(folder < 0, "sbn__cache_open");
    stored();
    in_the_way();
    hostile();
    groups();
    sbn__cache_close(folder);
    folder_end();
}
