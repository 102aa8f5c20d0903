/*
 * Groups that find their programs in the cache: none is compiled again, and the bits are the
 * same; damaged files are compiled and replaced; drivers that refuse a binary are given the
 * source (and others: tests/device/cache.c, tests/faults/group.c). On the first device of every
 * platform that has a usable one, and on one whose context has another one, too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/folder.h"
#include "base/memory.h"
#include "check/devices.h"
#include "program/binary.h"
#include "support/wraps.h"

enum { PROGRAMS = 3, CHANNELS = 3, PLANE = 40, SAMPLES = 2 };

static fixture device;
static cl_command_queue queue;
static slice data;
/* Compiled without optimisation, which takes a third of the time and gives the same bits. */
static const char *unoptimised = "-cl-opt-disable", *options;

/* Whether programs seem to belong to another device, too, whose binary comes first. */
static int belongs_to_two;

WRAP(cl_int, clGetProgramInfo,
     (cl_program program, cl_program_info what, size_t size, void *value, size_t *needed))
{
    /* A device, a size or an address for each. */
    void **first = value;
    if (!belongs_to_two)
        return __real_clGetProgramInfo(program, what, size, value, needed);
    if (what == CL_PROGRAM_NUM_DEVICES)
        return *(cl_uint *)value = 2, CL_SUCCESS;
    if (what == CL_PROGRAM_DEVICES)
        *first = &belongs_to_two;
    if (what == CL_PROGRAM_BINARY_SIZES)
        *(size_t *)value = sizeof "other";
    if (what == CL_PROGRAM_BINARIES)
        memcpy(*first, "other", sizeof "other");
    return __real_clGetProgramInfo(program, what, size - sizeof *first, first + 1, needed);
}

/* Of so many kernels from now on the driver does not know the size of work-groups. */
static int lost;

WRAP(cl_int, clGetKernelWorkGroupInfo,
     (cl_kernel kernel, cl_device_id of, cl_kernel_work_group_info what, size_t size, void *value,
      size_t *needed))
{
    if (lost > 0 && lost--)
        return *(size_t *)value = 0, CL_SUCCESS;
    return __real_clGetKernelWorkGroupInfo(kernel, of, what, size, value, needed);
}

/* Of the next calls that count a program's kernels or list them this one fails; 0: none. */
static int unlisted;

WRAP(cl_int, clCreateKernelsInProgram,
     (cl_program program, cl_uint room, cl_kernel *kernels, cl_uint *count))
{
    return unlisted > 0 && --unlisted == 0
               ? CL_OUT_OF_HOST_MEMORY
               : __real_clCreateKernelsInProgram(program, room, kernels, count);
}

/* Makes a group and runs a forward and a backward: a digest of both. */
static uint64_t run(const char *cache)
{
    sbn_group *group = GROUP_WITH(&queue, .program_cache = cache, .build_options = options);
    if (*sbn_last_error())
        tap_ok(0, "a group was made, with a sentence: %s", sbn_last_error());
    const life l = LIVE_WITH(group, .channels = CHANNELS);
    slice_reset(&data);
    fixture_train(&l, &data.shard);
    const uint64_t digest = digest_slice(SBN_DIGEST_START, &data);
    fixture_die(&l);
    return digest;
}

/* The digest of all runs, or 0 before the first one. */
static uint64_t right;

/* A run, and how many programs come from where. */
static void expect_counts(const char *cache, long sources, long binaries, const char *what)
{
    const long sources_before = wraps_calls[WRAP_CREATE_PROGRAM];
    const long binaries_before = wraps_calls[WRAP_CREATE_BINARY];
    const uint64_t digest = run(cache);
    const long from_source = wraps_calls[WRAP_CREATE_PROGRAM] - sources_before;
    const long from_binary = wraps_calls[WRAP_CREATE_BINARY] - binaries_before;
    right = right ? right : digest;
    tap_ok(from_source == sources && from_binary == binaries && digest == right,
           "%s: %ld from source, %ld from binaries (%ld and %ld expected), %s bits", what,
           from_source, from_binary, sources, binaries, digest == right ? "the same" : "other");
}

/* A key has all of every source. Without memory, or the device's names, there is none. */
static void check_keys(void)
{
    static const char unknown[1024] = "longer than a key has room for";
    sbn_sources sources = {.texts = {"one", "two"}, .lengths = {3, 3}, .count = 2};
    sbn_bytes key = {0}, other = {0};
    int good = sbn__binary_key(&key, device.device, &sources, "");
    for (int i = 0; i < 2; ++i) {
        sources.texts[i] = "six";
        good += sbn__binary_key(&other, device.device, &sources, "") && other.size == key.size &&
                memcmp(other.at, key.at, key.size) != 0;
        if (good == 2 + i)
            memcpy(key.at, other.at, key.size);
        sbn__bytes_free(&other);
    }
    good += sbn__binary_key(&other, device.device, &sources, "-w") && other.size == key.size + 2;
    sbn__bytes_free(&other);
    sbn__bytes_free(&key);
    good += !WITH_FAILURE(WRAP_ALLOCATE, 1, sbn__binary_key(&key, device.device, &sources, ""));
    wraps_device_says(CL_DRIVER_VERSION, unknown, sizeof unknown);
    good += !sbn__binary_key(&key, device.device, &sources, "");
    wraps_device_says(0, NULL, 0);
    tap_ok(good == 6, "another text is another key, and what fails is none: %d of 6", good);
}

/* How many binaries a platform's first device alone has given, as it does in a context of two. PoCL gives all. */
static int given, is_pocl;

static void check_device(const char *name, int all, cl_uint devices)
{
    char first[512];
    expect_counts("", PROGRAMS, 0, "no cache");
    expect_counts(folder_root, PROGRAMS, 0, "an empty cache");
    const int kept = folder_names(folder_root, first);
    given = devices == 1 ? kept : given;
    if (given == 0 && !is_pocl) {
        tap_skip("%s gives no binaries", name);
        return;
    }
    if (!tap_ok(kept == PROGRAMS, "%s: %d files are kept", name, kept))
        return;
    expect_counts(folder_root, 0, PROGRAMS, "a full cache");
    if (!all)
        return;
    check_keys();
    close(0); /* the lowest number is the folder's, too */
    must(truncate(first, 1000), "truncate");
    expect_counts(folder_root, 1, PROGRAMS - 1, "a truncated file");
    expect_counts(folder_root, 0, PROGRAMS, "and it is replaced");

    /* The driver refuses a binary. */
    wraps_fail(WRAP_CREATE_BINARY, 2);
    expect_counts(folder_root, 1, PROGRAMS, "a binary is refused");
    for (int n = 0; n <= 2; ++n) {
        lost = n == 0;
        unlisted = n;
        expect_counts(folder_root, 1, PROGRAMS, "one has lost a size, or kernels are not listed");
    }
    expect_counts("/dev/null", PROGRAMS, 0, "a folder that is none");

    /* The default folder is for devices that are not CPUs. */
    cl_device_type type = CL_DEVICE_TYPE_GPU;
    setenv("XDG_CACHE_HOME", folder_root, 1);
    expect_counts(NULL, PROGRAMS, 0, "a CPU, by default");
    wraps_device_says(CL_DEVICE_TYPE, &type, sizeof type);
    expect_counts(NULL, PROGRAMS, 0, "a GPU, by default");
    expect_counts(NULL, 0, PROGRAMS, "a GPU, by default, again");
    wraps_device_says(CL_DEVICE_TYPE, NULL, 0);

    /* The caller's options do not change the library's own macros. */
    options = "-cl-opt-disable -D BLOCK=16 -D CPU_FORM=0 -D WIDE=1 -D FORWARD_LOW1=1 -D LANES=8";
    expect_counts("", PROGRAMS, 0, "macros of the library's in the options");
    options = unoptimised;
    belongs_to_two = 1;
    expect_counts(folder_path("two"), PROGRAMS, 0, "programs of two devices");
    belongs_to_two = 0;
    expect_counts(folder_path("two"), 0, PROGRAMS, "of which the right one is kept");

    /* Another driver version is another key. */
    wraps_device_says(CL_DRIVER_VERSION, "another", 8);
    expect_counts(folder_root, PROGRAMS, 0, "another driver version");
    wraps_device_says(CL_DRIVER_VERSION, NULL, 0);
}

/* On a device of a context of `count`. */
static void on_device(cl_device_id id, const char *name, int all, cl_uint count,
                      const cl_device_id *devices)
{
    cl_int code;
    device.device = id;
    device.context = clCreateContext(NULL, count, devices, NULL, NULL, &code);
    must(code, "clCreateContext");
    queue = fixture_queue(&device, 0);
    slice_open(&data, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 3);
    folder_begin();
    check_device(name, all, count);
    folder_end();
    slice_close(&data);
    clReleaseCommandQueue(queue);
    clReleaseContext(device.context);
}

int main(void)
{
    device_list list;
    size_t last = SIZE_MAX;
    wraps_build_anew = 1;
    setenv("RUSTICL_ENABLE", "llvmpipe", 0);
    setenv("POCL_DEVICES", "pthread pthread", 0);
    /* PoCL, which may be told so already, compiles anew what is told twice. */
    const char *flags = getenv("POCL_EXTRA_BUILD_FLAGS");
    if (flags && strcmp(flags, unoptimised) == 0)
        unoptimised = "";
    options = unoptimised;
    const long handles = sbn__handles_open();
    must(devices_list(&list), "devices_list");
    for (size_t i = 0; i < list.devices; ++i) {
        const device_info *d = &list.device[i];
        if (!d->usable || d->platform == last)
            continue;
        is_pocl = strcmp(list.platform[d->platform].name, "Portable Computing Language") == 0;
        on_device(d->id, d->name, last == SIZE_MAX, 1, &d->id);
        last = d->platform;
        /* Not on the second: PoCL 3.1 gives its binary as the first one's. */
        if (i + 1 < list.devices && d[1].platform == last)
            on_device(d->id, "a device of two", 0, 2, (cl_device_id[]){d->id, d[1].id});
    }
    devices_free(&list);
    tap_ok(sbn__handles_open() == handles, "no handle is left open");
    return last < SIZE_MAX ? tap_done() : tap_missing("no usable OpenCL device here");
}
