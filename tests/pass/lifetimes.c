/*
 * Objects destroyed in the wrong order, used while a pass is under way or in two groups, and handles of destroyed
 * objects: each call is refused with a sentence and changes nothing; the right order then frees everything.
 */
#include "support/main.h"
#include "support/refused.h"
#include "support/wraps.h"

/* The first queue that the library makes when this is NULL: the references to it, and what is unmapped without any. */
static cl_command_queue first;
static int holders, used_when_gone;

WRAP(cl_command_queue, clCreateCommandQueue,
     (cl_context context, cl_device_id of, cl_command_queue_properties properties, cl_int *code))
{
    const cl_command_queue made = __real_clCreateCommandQueue(context, of, properties, code);
    holders = first ? holders : 1;
    first = first ? first : made;
    return made;
}

WRAP(cl_int, clRetainCommandQueue, (cl_command_queue of))
{
    holders += of == first;
    return __real_clRetainCommandQueue(of);
}

WRAP(cl_int, clReleaseCommandQueue, (cl_command_queue of))
{
    holders -= of == first;
    return __real_clReleaseCommandQueue(of);
}

WRAP(cl_int, clEnqueueUnmapMemObject,
     (cl_command_queue on, cl_mem buffer, void *at, cl_uint count, const cl_event *list,
      cl_event *event))
{
    used_when_gone += on == first && holders == 0;
    return __real_clEnqueueUnmapMemObject(on, buffer, at, count, list, event);
}

enum { CHANNELS = 3, SAMPLES = 4, PLANE = 7 };

static slice data;

static life make(void)
{
    return LIVE_WITH(fixture_group(queue, 1, SBN_FORM_AUTO), .channels = CHANNELS, .name = "bn");
}

/* It leaves the sentence of a call that failed before. */
#define ENDED(call) tap_ok((call) == SBN_SUCCESS, #call)

/* The group first, then the layer: both stay, and so does a pass made after. */
static void check_order(void)
{
    life l = make();
    REFUSED(sbn_group_destroy(l.group), "group: expected no layers in it, got 1");
    REFUSED(sbn_batchnorm_destroy(l.layer),
            "layer \"bn\": expected no saved statistics of it, got 1");
    RIGHT(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL));
    RIGHT(sbn_backward(l.layer, &data.shard, l.saved, 0, NULL));
    sbn_model *model;
    const sbn_parameters parameters = {sizeof parameters, data.shard.weight, data.shard.bias};
    must(sbn_model_create(&model), "sbn_model_create");
    must(sbn_model_add(model, "bn", l.layer, &parameters), "sbn_model_add");
    ENDED(sbn_saved_destroy(l.saved));
    REFUSED(sbn_batchnorm_destroy(l.layer), "layer \"bn\": expected no models of it, got 1");
    ENDED(sbn_model_destroy(model));
    REFUSED(sbn_model_reset_parameters(model), "model|destroyed");
    REFUSED(sbn_model_destroy(model), "model|destroyed");
    ENDED(sbn_batchnorm_destroy(l.layer));
    ENDED(sbn_group_destroy(l.group));
}

/* All three under a pass forward, then under one back. */
static void check_under_pass(void)
{
    static const char words[] = "group: expected no pass of it under way, got 1";
    const int colour = 0;
    life l = make();
    for (int back = 0; back < 2; ++back) {
        sbn_group *part;
        sbn_data_parallel *parallel;
        sbn_pass *pass;
        must(back ? sbn_backward_begin(l.layer, &data.shard, l.saved, 0, &pass)
                  : sbn_forward_begin(l.layer, &data.shard, l.saved, 0, &pass),
             "begin");
        REFUSED(sbn_group_destroy(l.group), words);
        REFUSED(sbn_group_split(l.group, &colour, &part), words);
        REFUSED(sbn_data_parallel_create(l.group, NULL, &parallel), words);
        REFUSED(sbn_batchnorm_destroy(l.layer), "layer \"bn\": passes of it are under way");
        REFUSED(sbn_saved_destroy(l.saved),
                "saved: expected no pass under way that uses it, got 1");
        RIGHT(sbn_pass_end(pass, NULL));
        REFUSED(sbn_pass_end(pass, NULL), "pass|got an ended one");
    }
    fixture_die(&l);
    tap_ok(holds_words(sbn_last_error(), "got an ended one"),
           "the sentence of a failed call outlives what is destroyed after it");
}

/* A layer that has moved belongs to its new group alone; the statistics of evaluation by the batch follow it. */
static void check_moved(void)
{
    first = NULL;
    life l = make(), other = make();
    cl_event another = (cl_event)&another;
    sbn_shard beside = data.shard;
    beside.event = &another;
    const sbn_branch branches[] = {{sizeof *branches, l.layer, &data.shard, l.saved, 0},
                                   {sizeof *branches, other.layer, &beside, other.saved, 0}};
    RIGHT(sbn_forward_branches(branches, 1, NULL));
    tap_ok(another != NULL, "what lies behind the call's layers is left alone");
    REFUSED(sbn_forward_branches(branches, 2, NULL),
            "branches[1]: layer: expected one of the first layer's group|of another");
    sbn_batchnorm *by_batch = LAYER_WITH(l.group, .channels = CHANNELS, .track_running_stats = OFF);
    RIGHT(sbn_evaluate(by_batch, &data.shard));
    const uint64_t before = digest_buffer(SBN_DIGEST_START, &data, &data.shard.y, data.elements);
    slice_reset(&data);
    RIGHT(sbn_batchnorm_set_group(by_batch, other.group));
    RIGHT(sbn_evaluate(by_batch, &data.shard));
    tap_ok(digest_buffer(SBN_DIGEST_START, &data, &data.shard.y, data.elements) == before,
           "evaluation by batch statistics, after the layer has moved");
    ENDED(sbn_batchnorm_destroy(by_batch));
    fixture_die(&other);
    other.group = fixture_group(queue, 1, SBN_FORM_AUTO);
    RIGHT(sbn_batchnorm_set_group(l.layer, other.group));
    REFUSED(sbn_group_destroy(other.group), "group: expected no layers in it, got 1");
    ENDED(sbn_group_destroy(l.group));
    tap_ok(holders > 0, "memory that is mapped retains the queue of the group that is no more");
    l.group = other.group;
    RIGHT(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL));
    fixture_die(&l);
    tap_ok(used_when_gone == 0, "%d commands on a queue that is no more", used_when_gone);
}

/* Averaging under way, in a group that stays as long as it can be averaged in. */
static void check_parallel(void)
{
    life l = make();
    sbn_data_parallel *parallel;
    sbn_exchange *exchange;
    const size_t count = CHANNELS;
    const sbn_tensors tensors = {.size = sizeof tensors, .buffers = &data.shard.weight_grad};
    must(sbn_data_parallel_create(l.group, NULL, &parallel), "sbn_data_parallel_create");
    must(sbn_average_gradients_begin(parallel, &count, 1, &tensors, &exchange), "average");
    ENDED(sbn_saved_destroy(l.saved));
    ENDED(sbn_batchnorm_destroy(l.layer));
    REFUSED(sbn_group_destroy(l.group), "group: expected no sbn_data_parallel of it, got 1");
    REFUSED(sbn_data_parallel_destroy(parallel), "parallel: expected no exchange under way, got 1");
    RIGHT(sbn_exchange_end(exchange));
    ENDED(sbn_data_parallel_destroy(parallel));
    ENDED(sbn_group_destroy(l.group));
    REFUSED(sbn_exchange_end(exchange), "exchange|destroyed");
    REFUSED(sbn_data_parallel_destroy(parallel), "parallel|destroyed");
}

/* Two replicas of one colour have two handles of one group: the last one ends it. */
static void check_split(void)
{
    const int colours[] = {0, 0, -7}, wrong[] = {0, -7};
    sbn_group *whole = fixture_group(queue, 2, SBN_FORM_AUTO), *parts[] = {whole, whole, whole};
    REFUSED(sbn_group_split(NULL, colours, parts), "group|got NULL");
    REFUSED(sbn_group_split(whole, wrong, parts), "colours|got -7 for replica 1");
    tap_ok(!parts[0] && !parts[1] && parts[2] == whole,
           "no parts, and no place behind the replicas");
    must(sbn_group_split(whole, colours, parts), "sbn_group_split");
    sbn_batchnorm *layer = LAYER_WITH(parts[0], .channels = CHANNELS);
    ENDED(sbn_group_destroy(parts[0]));
    for (int i = 0; i < 2; ++i)
        REFUSED(sbn_group_destroy(parts[1]), "group: expected no layers in it, got 1");
    ENDED(sbn_batchnorm_destroy(layer));
    tap_ok(!sbn_group_abort(parts[1]) && sbn_group_status(parts[1], NULL) == SBN_ABORTED &&
               !sbn_group_status(whole, NULL),
           "a part is aborted alone");
    ENDED(sbn_group_destroy(parts[1]));
    REFUSED(sbn_group_destroy(parts[1]), "group|destroyed");
    ENDED(sbn_group_destroy(whole));
    REFUSED(sbn_group_split(whole, colours, parts), "group|destroyed");
}

/* Handles of what is no more: saved statistics, a layer, a group, a pass; and of no object. */
static void check_destroyed(void)
{
    life l = make(), other = make();
    sbn_pass *pass;
    sbn_batchnorm *layer;
    RIGHT(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL));
    ENDED(sbn_saved_destroy(l.saved));
    REFUSED(sbn_backward(l.layer, &data.shard, l.saved, 0, NULL), "saved|destroyed");
    REFUSED(sbn_saved_destroy(l.saved), "saved|destroyed");
    must(sbn_forward_begin(other.layer, &data.shard, other.saved, 0, &pass), "begin");
    must(sbn_pass_end(pass, NULL), "end");
    fixture_die(&other);
    REFUSED(sbn_pass_end(pass, NULL), "pass|destroyed");
    REFUSED(sbn_forward(other.layer, &data.shard, other.saved, 0, NULL), "layer|destroyed");
    REFUSED(sbn_batchnorm_set_training(other.layer, 0), "layer|destroyed");
    REFUSED(sbn_batchnorm_destroy(other.layer), "layer|destroyed");
    REFUSED(MAKE_LAYER(&layer, other.group, .channels = CHANNELS), "group|destroyed");
    REFUSED(sbn_group_destroy(other.group), "group|destroyed");
    tap_ok(sbn_group_replicas(other.group) == 0 && sbn_batchnorm_group(other.layer) == NULL &&
               !sbn_batchnorm_is_training(other.layer),
           "a destroyed group has no replicas, a destroyed layer no group");
    int no_object[16] = {0};
    REFUSED(sbn_group_destroy((sbn_group *)no_object), "group|destroyed, or none");
    REFUSED(sbn_group_destroy((sbn_group *)l.layer),
            "group: expected a handle of this kind, got another");
    ENDED(sbn_batchnorm_destroy(l.layer));
    ENDED(sbn_group_destroy(l.group));
    ENDED(sbn_group_destroy(NULL));
    ENDED(sbn_batchnorm_destroy(NULL));
    ENDED(sbn_saved_destroy(NULL));
    ENDED(sbn_model_destroy(NULL));
    ENDED(sbn_data_parallel_destroy(NULL));
    ENDED(sbn_checkpoint_destroy(NULL));
}

void checks(void)
{
    slice_open(&data, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 1);
    check_order();
    check_under_pass();
    check_moved();
    check_parallel();
    check_split();
    check_destroyed();
    slice_close(&data);
}
