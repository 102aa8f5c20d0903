#include "support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *tool(void)
{
    const char *name = getenv("SBN_TEST_UNDER");
    return name ? name : "";
}

void fixture_one_thread(void)
{
    setenv("POCL_MAX_PTHREAD_COUNT", "1", 0);
}

int fixture_open(fixture *f)
{
    cl_platform_id platforms[16];
    cl_uint count = 0;
    memset(f, 0, sizeof *f);
    if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS)
        return 1;
    for (cl_uint i = 0; i < count && i < 16; ++i) {
        cl_int code;
        char name[128] = "";
        clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name, name, NULL);
        if (strcmp(name, "Portable Computing Language") != 0 ||
            clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &f->device, NULL) != CL_SUCCESS)
            continue;
        f->context = clCreateContext(NULL, 1, &f->device, NULL, NULL, &code);
        must(code, "clCreateContext");
        return 0;
    }
    return 1;
}

void fixture_close(fixture *f)
{
    clReleaseContext(f->context);
}

int fixture_missing(void)
{
    return tap_missing("no PoCL device");
}

cl_command_queue fixture_queue(const fixture *f, int out_of_order)
{
    cl_int code;
    cl_command_queue_properties properties = 0;
    clGetDeviceInfo(f->device, CL_DEVICE_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
    properties &= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
    cl_command_queue queue = clCreateCommandQueue(f->context, f->device,
                                                  out_of_order ? properties : 0, &code);
    must(code, "clCreateCommandQueue");
    return queue;
}

int fixture_make_group(sbn_group **made, const cl_command_queue *queues, sbn_group_config settings)
{
    const sbn_group_config usual = SBN_GROUP_CONFIG_INIT;
    settings.size = usual.size;
    settings.queues = queues;
    settings.replicas = settings.replicas || !queues ? settings.replicas : 1;
    settings.timeout = settings.timeout != 0 ? settings.timeout : usual.timeout;
    return sbn_group_create(&settings, made);
}

sbn_group *fixture_group_with(const cl_command_queue *queues, sbn_group_config settings)
{
    sbn_group *made;
    must(fixture_make_group(&made, queues, settings), "sbn_group_create");
    return made;
}

int fixture_unanswered_calls;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)context, (void)tag, (void)words, (void)count, (void)request;
    ++fixture_unanswered_calls;
    return -1;
}

static int test(void *context, void *request, int *done)
{
    (void)context, (void)request, (void)done;
    ++fixture_unanswered_calls;
    return -1;
}

const sbn_transport fixture_unanswered = {sizeof fixture_unanswered, .world_size = 2,
                                          .start = start, .test = test};

sbn_group *fixture_group(cl_command_queue queue, size_t replicas, sbn_kernel_form form)
{
    enum { MOST = 16 };
    cl_command_queue queues[MOST];
    must(replicas > MOST, "a group of so many replicas");
    for (size_t r = 0; r < replicas; ++r)
        queues[r] = queue;
    return GROUP_WITH(queues, .replicas = replicas, .form = form);
}

int fixture_make_layer(sbn_batchnorm **made, sbn_group *group, sbn_batchnorm_config settings)
{
    const sbn_batchnorm_config usual = SBN_BATCHNORM_CONFIG_INIT;
    settings.size = usual.size;
    settings.eps = settings.eps == OFF ? 0 : settings.eps != 0 ? settings.eps : usual.eps;
    settings.momentum = settings.momentum != 0 ? settings.momentum : usual.momentum;
    settings.slope = settings.slope != 0 ? settings.slope : usual.slope;
    settings.affine = settings.affine != OFF;
    settings.track_running_stats = settings.track_running_stats != OFF;
    return sbn_batchnorm_create(group, &settings, made);
}

sbn_batchnorm *fixture_layer_with(sbn_group *group, sbn_batchnorm_config settings)
{
    sbn_batchnorm *made;
    must(fixture_make_layer(&made, group, settings), "sbn_batchnorm_create");
    return made;
}

const char *const operation_names[OPERATIONS] = {"forward", "backward", "evaluation",
                                                 "recomputation"};

int fixture_pass(operation op, sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                 unsigned flags, sbn_result *result)
{
    switch (op) {
    case FORWARD: return sbn_forward(layer, shards, saved, flags, result);
    case BACKWARD: return sbn_backward(layer, shards, saved, flags, result);
    case EVALUATE: return sbn_evaluate(layer, shards);
    default: return sbn_recompute(layer, shards, saved);
    }
}

sbn_saved *fixture_saved(sbn_batchnorm *layer)
{
    sbn_saved *made;
    must(sbn_saved_create(layer, &made), "sbn_saved_create");
    return made;
}

void fixture_end(sbn_batchnorm *layer, sbn_saved *saved)
{
    must(sbn_saved_destroy(saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(layer), "sbn_batchnorm_destroy");
}

life fixture_live(sbn_group *group, sbn_batchnorm_config settings)
{
    life l = {.group = group, .layer = fixture_layer_with(group, settings)};
    l.saved = fixture_saved(l.layer);
    return l;
}

void fixture_train(const life *l, const sbn_shard *shards)
{
    must(sbn_forward(l->layer, shards, l->saved, 0, NULL), "sbn_forward");
    must(sbn_backward(l->layer, shards, l->saved, 0, NULL), "sbn_backward");
}

void fixture_die(const life *l)
{
    fixture_end(l->layer, l->saved);
    must(sbn_group_destroy(l->group), "sbn_group_destroy");
}

int64_t fixture_batches(const sbn_batchnorm *layer)
{
    int64_t batches;
    must(sbn_batchnorm_running_stats(layer, NULL, NULL, &batches), "sbn_batchnorm_running_stats");
    return batches;
}

const char *data_path(const char *name)
{
    static char path[1024];
    const char *top = getenv("srcdir");
    snprintf(path, sizeof path, "%s/tests/model/data/%s", top ? top : ".", name);
    return path;
}

cl_event fixture_gate(const fixture *f)
{
    cl_int code;
    cl_event made = clCreateUserEvent(f->context, &code);
    must(code, "clCreateUserEvent");
    return made;
}

void __lsan_disable(void) __attribute__((weak));
void expect_leaks(void)
{
    if (__lsan_disable)
        __lsan_disable();
}

int holds_words(const char *sentence, const char *words)
{
    while (*words) {
        char word[128];
        const size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        const char *found = strstr(sentence, word + (*word == '^'));
        if (!found || (*word == '^' && found != sentence))
            return 0;
        words += length + (words[length] == '|');
    }
    return 1;
}

int expect(int status, int expected, const char *words, const char *what)
{
    /* strerror's names are no calls that clear the sentence. */
    const char *sentence = sbn_last_error();
    const int spoken = expected == SBN_SUCCESS ? !*sentence : holds_words(sentence, words);
    return tap_ok(status == expected && spoken, "%s: expected %s (%s), got %s: %s", what,
                  sbn_strerror(expected), words, sbn_strerror(status), sentence);
}
