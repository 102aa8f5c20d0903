/*
 * Groups share built programs: the second group with the same context, device and options builds
 * nothing, nor do groups that several threads create at once; the last group releases them; a
 * thread that waits for another's build builds itself if that one fails.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/build_options.h"
#include "support/main.h"
#include "support/wraps.h"

enum { PROGRAMS = 3, THREADS = 4 };

__attribute__((constructor)) static void begin(void)
{
    fixture_one_thread();
    setenv("POCL_DEVICES", "pthread pthread", 0);
}

static int make(const char *options, sbn_group **group)
{
    return MAKE_GROUP(group, &queue, .build_options = options);
}

/* One check: a call that succeeds builds so many programs. */
#define BUILDS(count, call, ...) \
    do { \
        const long before = wraps_calls[WRAP_BUILD]; \
        must(call, #call); \
        tap_ok(wraps_calls[WRAP_BUILD] - before == (count), __VA_ARGS__); \
    } while (0)

static void check_one_after_another(void)
{
    sbn_group *first, *second, *other, *parts[1];
    const int colour = 0;
    fixture elsewhere;
    must(fixture_open(&elsewhere), "fixture_open");
    cl_command_queue another = fixture_queue(&elsewhere, 0);
    BUILDS(PROGRAMS, make(NULL, &first), "the first group builds %d programs", PROGRAMS);
    BUILDS(0, make("", &second), "the second builds none");
    char longest[SBN_MAX_BUILD_OPTIONS + 1] = "-D SBN_TEST_OTHER=1";
    memset(longest + strlen(longest), ' ', sizeof longest - 1 - strlen(longest));
    BUILDS(PROGRAMS, make(longest, &other), "other options, other programs");
    sbn_group_destroy(other);
    BUILDS(1, MAKE_GROUP(&other, &queue, .form = SBN_FORM_GPU), "another form, another program");
    sbn_group_destroy(other);
    BUILDS(PROGRAMS, MAKE_GROUP(&other, &another), "another context, other programs");
    sbn_group_destroy(other);
    clReleaseCommandQueue(another);
    fixture_close(&elsewhere);
    BUILDS(0, sbn_group_split(second, &colour, parts), "a part builds none");
    sbn_group_destroy(parts[0]);
    sbn_group_destroy(first);
    BUILDS(0, make(NULL, &first), "nor does one made when the first is gone");
    sbn_group_destroy(first);
    sbn_group_destroy(second);
    BUILDS(PROGRAMS, make(NULL, &first), "the last to go releases them");
    sbn_group_destroy(first);
    wraps_build_fails_once = 1;
    BUILDS(PROGRAMS + 1, WITH_FAILURE(WRAP_BUILD, 1, make(NULL, &first)),
           "what another process hinders is built once more");
    sbn_group_destroy(first);
    wraps_build_code = CL_OUT_OF_HOST_MEMORY;
    const long before = wraps_calls[WRAP_BUILD];
    expect(WITH_FAILURE(WRAP_BUILD, 1,
                        MAKE_GROUP(&first, &queue, .form = SBN_FORM_GPU, .build_options = "-D M")),
           CL_OUT_OF_HOST_MEMORY, "cannot build the kernels", "no memory for a build");
    tap_ok(wraps_calls[WRAP_BUILD] == before + 1, "which says nothing of the device");
    wraps_build_code = CL_BUILD_PROGRAM_FAILURE;
    wraps_build_fails_once = 0;
}

static int make_layer(sbn_group *group, sbn_type type, sbn_batchnorm **layer)
{
    return MAKE_LAYER(layer, group, .channels = 1, .type = type);
}

/* Programs of other types come with the first layer that needs them; they stay with its group. */
static void check_types(void)
{
    sbn_group *first, *second, *part;
    sbn_batchnorm *layers[5];
    const int colour = 0;
    must(make(NULL, &first), "sbn_group_create");
    must(make(NULL, &second), "sbn_group_create");
    BUILDS(0, make_layer(first, SBN_F32, &layers[0]), "a layer of floats builds none");
    BUILDS(PROGRAMS, make_layer(first, SBN_F16, &layers[1]), "one of halves builds its own");
    BUILDS(0, make_layer(first, SBN_F16, &layers[2]), "the second of halves none");
    BUILDS(PROGRAMS, make_layer(first, SBN_BF16, &layers[3]), "one of bfloat16s others");
    BUILDS(0, make_layer(second, SBN_BF16, &layers[4]), "another group's shares them");
    must(sbn_group_split(second, &colour, &part), "sbn_group_split");
    BUILDS(0, sbn_batchnorm_set_group(layers[1], part), "nor does a layer that moves build any");
    BUILDS(0, sbn_batchnorm_set_group(layers[4], first), "nor does a layer that moves build any");
    for (size_t i = 0; i < 5; ++i)
        must(sbn_batchnorm_destroy(layers[i]), "sbn_batchnorm_destroy");
    sbn_group_destroy(part);
    sbn_group_destroy(first);
    sbn_group_destroy(second);
}

/* Of one context each device has its own programs, and their bits are the same. */
static void check_two_devices(void)
{
    enum { DEVICES = 2, CHANNELS = 3, PLANE = 9 };
    cl_platform_id platform;
    cl_device_id ids[DEVICES];
    cl_uint count = 0;
    cl_int code;
    must(clGetDeviceInfo(device.device, CL_DEVICE_PLATFORM, sizeof(platform), &platform, NULL),
         "clGetDeviceInfo");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, ids, &count), "clGetDeviceIDs");
    if (count < DEVICES) {
        tap_skip("PoCL has one device");
        return;
    }
    fixture both = {.context = clCreateContext(NULL, DEVICES, ids, NULL, NULL, &code)};
    must(code, "clCreateContext");
    cl_command_queue queues[DEVICES];
    for (int i = 0; i < DEVICES; ++i) {
        both.device = ids[i];
        queues[i] = fixture_queue(&both, 0);
    }
    const cl_command_queue same[DEVICES] = {queues[1], queues[1]};
    slice slices[DEVICES];
    sbn_shard shards[DEVICES];
    slices_open(slices, shards, DEVICES, &both, queues[1], 2, CHANNELS, PLANE, 1);
    sbn_group *groups[2];
    uint64_t digests[2];
    BUILDS(DEVICES * PROGRAMS, MAKE_GROUP(&groups[0], queues, .replicas = DEVICES),
           "two devices of a context: %d programs for each", PROGRAMS);
    BUILDS(0, MAKE_GROUP(&groups[1], same, .replicas = DEVICES), "a group on the second: none");
    for (int i = 0; i < 2; ++i) {
        const life l = LIVE_WITH(groups[i], .channels = CHANNELS);
        slices_reset(slices, DEVICES);
        fixture_train(&l, shards);
        must(clFinish(queues[0]), "clFinish");
        digests[i] = digest_slices(SBN_DIGEST_START, slices, DEVICES);
        fixture_die(&l);
    }
    tap_ok(digests[0] == digests[1], "on both devices the bits of one");
    slices_close(slices, DEVICES);
    for (int i = 0; i < DEVICES; ++i)
        clReleaseCommandQueue(queues[i]);
    fixture_close(&both);
}

/* What the configuration's on_compile was told. */
typedef struct told {
    long times;
    char last[256];
} told;

static void tell(void *context, const char *sentence)
{
    told *of = context;
    ++of->times;
    snprintf(of->last, sizeof of->last, "%s", sentence);
}

/* The GPU form's reductions are programs for each pass and layout, built by the first pass that needs them. */
static void check_reductions(void)
{
    enum { CHANNELS = 1, PLANE = 9 };
    const sbn_layout layouts[] = {SBN_LAYOUT_NCHW, SBN_LAYOUT_NHWC};
    sbn_group *groups[2];
    slice data;
    told compiling = {0, ""};
    char last_words[256] = "compiling program \"backward\", SBN_F32, for device \"";
    const long builds = wraps_calls[WRAP_BUILD];
    clGetDeviceInfo(device.device, CL_DEVICE_NAME, 128, last_words + strlen(last_words), NULL);
    slice_open(&data, &device, queue, 0, 2, CHANNELS, PLANE, 1);
    for (int i = 0; i < 2; ++i)
        BUILDS(!i,
               MAKE_GROUP(&groups[i], &queue, .form = SBN_FORM_GPU, .on_compile = tell,
                          .compile_context = &compiling),
               "GPU form, group %d: builds %d program", i, !i);
    for (int i = 0; i < 2; ++i)
        for (int last = 0; last < 2; ++last) {
            sbn_batchnorm *layer;
            BUILDS(0, MAKE_LAYER(&layer, groups[i], .channels = CHANNELS, .layout = layouts[last]),
                   "a layer none");
            sbn_saved *saved = fixture_saved(layer);
            BUILDS(0, sbn_evaluate(layer, &data.shard), "evaluation builds none");
            if (!i)
                expect(WITH_FAILURE(WRAP_BUILD, 1, sbn_forward(layer, &data.shard, saved, 0, NULL)),
                       SBN_UNSUPPORTED_DEVICE, "cannot build the kernels",
                       "a build fails in a pass");
            for (operation op = FORWARD; op <= BACKWARD; ++op) {
                BUILDS(!i, fixture_pass(op, layer, &data.shard, saved, 0, NULL),
                       "%s, channels %s: a first pass builds %d", operation_names[op],
                       last ? "last" : "first", !i);
                BUILDS(0, fixture_pass(op, layer, &data.shard, saved, 0, NULL), "the second none");
            }
            fixture_end(layer, saved);
        }
    /* Two failed, twice each. */
    tap_ok(compiling.times == wraps_calls[WRAP_BUILD] - builds - 2,
           "each was told before: %ld of %ld", compiling.times,
           wraps_calls[WRAP_BUILD] - builds - 2);
    tap_ok(strcmp(compiling.last, strcat(last_words, "\"")) == 0, "the last: %s", compiling.last);
    for (int i = 0; i < 2; ++i)
        must(sbn_group_destroy(groups[i]), "sbn_group_destroy");
    slice_close(&data);
}

typedef struct maker {
    pthread_t thread;
    int faulty, status;
    sbn_group *group;
} maker;

static pthread_barrier_t start;

static void *run(void *context)
{
    maker *m = context;
    wraps_fail(WRAP_BUILD, m->faulty);
    pthread_barrier_wait(&start);
    m->status = make(NULL, &m->group);
    m->faulty = wraps_failed >= 0;
    return NULL;
}

/* `faulty` of the threads fail to build, should it be their turn. */
static void check_at_once(int faulty)
{
    maker makers[THREADS];
    int failed = 0, right = 1;
    const long before = wraps_calls[WRAP_BUILD];
    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; ++i) {
        makers[i].faulty = i < faulty;
        must(pthread_create(&makers[i].thread, NULL, run, &makers[i]), "pthread_create");
    }
    for (int i = 0; i < THREADS; ++i) {
        pthread_join(makers[i].thread, NULL);
        failed += makers[i].faulty;
        right = right && (makers[i].faulty ? makers[i].status == SBN_UNSUPPORTED_DEVICE
                                           : makers[i].status == SBN_SUCCESS);
    }
    pthread_barrier_destroy(&start);
    const long builds = wraps_calls[WRAP_BUILD] - before;
    tap_ok(right, "%d threads at once, %d of them faulty: each has what is its own", THREADS,
           faulty);
    tap_ok(builds == 2 * failed + (failed < THREADS ? PROGRAMS : 0),
           "%d failed, the programs are built once, if at all: %ld builds", failed, builds);
    for (int i = 0; i < THREADS; ++i)
        sbn_group_destroy(makers[i].group);
}

void checks(void)
{
    wraps_build_anew = 1;
    check_one_after_another();
    check_types();
    check_two_devices();
    check_reductions();
    check_at_once(0);
    check_at_once(THREADS - 1);
    check_at_once(THREADS);
}
