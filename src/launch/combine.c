#include "launch/combine.h"

#include "launch/backward.h"
#include "launch/reduce.h"
#include "launch/tracking.h"

/* A kernel takes so many sources, with two arguments each. */
enum { SOURCES = 4, SOURCE_ARGUMENTS = 2 * SOURCES };

int sbn__device_combine_concerns(const sbn_layer_pass *lp, size_t replica)
{
    return lp->kind->fills || lp->shapes[replica].values > 0 || sbn__backward_stores(lp, replica);
}

static size_t collect(const sbn_work *work, size_t replicas, sbn_reduced *sources)
{
    size_t count = 0;
    for (size_t r = 0; r < replicas; ++r)
        if (work[r].reduced.slices > 0)
            sources[count++] = work[r].reduced;
    return count;
}

/* Sources that are not there have no slices, but a buffer. */
static void pad(sbn_reduced *sources, size_t count)
{
    for (; count < SOURCES; ++count)
        sources[count] = (sbn_reduced){sources[0].mem, 0};
}

/* More sources than a kernel takes: this replica's device adds most of them up before. */
static int add_up(sbn_layer_pass *lp, sbn_replica *replica, const sbn_format *format,
                  sbn_reduced *sources, size_t count, sbn_wait *wait, cl_event *event)
{
    sbn_work *work = &lp->work[replica->index];
    size_t at = 0;
    int status = SBN_SUCCESS;
    if (count > SOURCES)
        status = sbn__reserve(replica, &work->accumulators,
                              sizeof(int64_t) * sbn__accumulator_length(format) *
                                  lp->layer->channels);
    while (!status && count - at > SOURCES) {
        cl_event added;
        status = sbn__add_slices(lp, replica, format, sources + at, work->accumulators.mem, wait,
                                 &added);
        if (status)
            break;
        sbn__move_event(event, &added);
        *wait = sbn__layer_pass_wait(lp, replica);
        sbn__wait_behind(wait, replica, replica, *event);
        at += SOURCES - 1;
        sources[at] = (sbn_reduced){work->accumulators.mem, 1};
    }
    for (size_t i = 0; i < SOURCES && at > 0; ++i)
        sources[i] = at + i < count ? sources[at + i] : sources[i];
    pad(sources, count - at);
    return status;
}

static int launch(sbn_replica *replica, sbn_kernel *kernel, const sbn_argument *arguments,
                  size_t count, size_t channels, const sbn_wait *wait, cl_event *event)
{
    const sbn_form_sizes *sizes = sbn__form_sizes(replica->form);
    const size_t span = (size_t)sizes->combine_items * (size_t)sizes->combine_span;
    const size_t work_groups = (channels + span - 1) / span;
    return sbn__launch(replica, kernel, arguments, count, 1, &work_groups, wait, event);
}

#define COMMON_ARGUMENTS \
    SBN_ARG(sources[0].mem), SBN_ARG(sources[0].slices), SBN_ARG(sources[1].mem), \
        SBN_ARG(sources[1].slices), SBN_ARG(sources[2].mem), SBN_ARG(sources[2].slices), \
        SBN_ARG(sources[3].mem), SBN_ARG(sources[3].slices), SBN_ARG(channels), SBN_ARG(repeat), \
        SBN_ARG(count), SBN_ARG(eps->eps), SBN_ARG(clamps)

static int launch_forward(sbn_layer_pass *lp, sbn_replica *replica, int format, int tracks,
                          const sbn_reduced *sources, sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    const sbn_batchnorm *layer = lp->layer;
    sbn_channel_table *table = &lp->saved->table;
    const sbn_eps *eps = &layer->eps;
    const cl_uint channels = (cl_uint)layer->channels, clamps = (cl_uint)eps->clamp;
    const cl_ulong count = lp->count;
    const cl_mem repeat = lp->work[r].repeat.mem, moments = lp->saved->moments->device[r].mem;
    const sbn_tracking tracking = sbn__tracking_of(lp, r, tracks, moments);
    const sbn_argument arguments[] = {
        COMMON_ARGUMENTS,
        SBN_ARG(table->device[r].mem),
        SBN_ARG(moments),
        SBN_TRACKING_ARGUMENTS(tracking),
    };
    const int continues = format == SBN_WIDE;
    int status = sbn__channel_table_wait_to_write(table, replica, continues, wait);
    /* The device overwrites what was saved. */
    lp->saved->filled = 0;
    sbn__tracking_wait(lp, &tracking, r, wait);
    if (!status)
        status = launch(replica, &replica->sum_kernels.forward_combine[format], arguments,
                        sizeof arguments / sizeof *arguments, channels, wait, event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__tracking_enqueued(lp, &tracking, replica, *event);
}

static int launch_backward(sbn_layer_pass *lp, sbn_replica *replica, int format,
                           const sbn_reduced *sources, sbn_wait *wait, cl_event *event)
{
    const size_t r = replica->index;
    sbn_channel_table *table = &lp->gradients, *statistics = &lp->saved->table;
    const sbn_eps *eps = &lp->layer->eps;
    const cl_uint channels = (cl_uint)lp->layer->channels, clamps = (cl_uint)eps->clamp;
    const cl_uint is_own = !(lp->flags & SBN_GLOBAL_GRADIENTS) && sbn__layer_pass_has_peers(lp);
    const cl_ulong count = lp->count;
    const cl_mem repeat = lp->work[r].repeat.mem, moments = lp->saved->moments->device[r].mem;
    const sbn_reduced *reduced = &lp->work[r].reduced;
    const sbn_reduced own = reduced->slices > 0 ? *reduced : (sbn_reduced){sources[0].mem, 0};
    const sbn_argument arguments[] = {
        COMMON_ARGUMENTS, SBN_ARG(moments),    SBN_ARG(table->device[r].mem),
        SBN_ARG(own.mem), SBN_ARG(own.slices), SBN_ARG(is_own),
    };
    const int continues = format == SBN_WIDE;
    int status = sbn__channel_table_wait_to_write(table, replica, continues, wait);
    if (!status)
        status = sbn__channel_table_wait(statistics, replica, wait);
    if (!status)
        status = launch(replica, &replica->sum_kernels.backward_combine[format], arguments,
                        sizeof arguments / sizeof *arguments, channels, wait, event);
    if (!status)
        status = sbn__channel_table_wrote(table, replica, *event);
    return status ? status : sbn__channel_table_touched(statistics, replica, *event);
}

int sbn__device_combine(sbn_layer_pass *lp, sbn_replica *replica, int format, int tracks)
{
    const size_t replicas = lp->group->replica_count;
    const sbn_format *fixed = lp->kind->format(format);
    sbn_work *work = &lp->work[replica->index];
    sbn_reduced sources[SBN_MAX_COMBINED + SOURCES];
    const size_t count = collect(lp->work, replicas, sources);
    cl_event added = NULL, combined = NULL;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    for (size_t r = 0; r < replicas; ++r)
        sbn__wait_behind(&wait, replica, &lp->group->replicas[r], lp->work[r].last);
    int status = sbn__reserve(replica, &work->repeat, lp->layer->channels);
    if (!status && lp->kind->fills)
        status = sbn__saved_moments_reserve(lp->saved->moments, replica);
    if (!status)
        status = add_up(lp, replica, fixed, sources, count, &wait, &added);
    if (!status)
        status = lp->kind->fills
                     ? launch_forward(lp, replica, format, tracks, sources, &wait, &combined)
                     : launch_backward(lp, replica, format, sources, &wait, &combined);
    sbn__release_event(&added);
    if (combined)
        sbn__move_event(&work->next, &combined);
    return status;
}
