#include "pass/reduce.h"

static int reserve(const sbn_chunk *chunk, sbn_replica *replica, const sbn_format *format,
                   size_t slices)
{
    sbn_work *work = &chunk->work[replica->index];
    const size_t bytes = sizeof(int64_t) * sbn__accumulator_length(format) * chunk->channels;
    const int status = sbn__reserve(replica, &work->accumulators, bytes);
    return status || slices == 1 ? status : sbn__reserve(replica, &work->partial, bytes * slices);
}

int sbn__reduce_launch(const sbn_chunk *chunk, sbn_replica *replica, sbn_kernel *kernel,
                       sbn_argument *arguments, size_t count, const sbn_reduce_plan *plan,
                       const sbn_wait *wait, cl_event *event)
{
    const sbn_shape *g = &chunk->shapes[replica->index];
    const sbn_work *work = &chunk->work[replica->index];
    const cl_uint samples = (cl_uint)g->samples, channels = (cl_uint)g->channels;
    const cl_uint first = (cl_uint)g->first, total = (cl_uint)g->total, plane = (cl_uint)g->plane;
    const cl_mem out = plan->slices > 1 ? work->partial.mem : work->accumulators.mem;
    const int whole = g->layout == SBN_LAYOUT_NHWC; /* those kernels have no chunks */
    const sbn_argument of_cpu[SBN_SLICE_ARGUMENTS] = {
        SBN_ARG(first),       SBN_ARG(total),           SBN_ARG(samples),
        SBN_ARG(channels),    SBN_ARG(plane),           SBN_ARG(g->blocks),
        SBN_ARG(plan->strip), SBN_ARG(plan->per_slice), SBN_ARG(g->last_reciprocal),
        SBN_ARG(out),
    };
    const sbn_argument of_gpu[] = {
        SBN_ARG(channels),           SBN_ARG(plane),
        SBN_ARG(g->blocks),          SBN_ARG(g->channel_blocks),
        SBN_ARG(plan->log2_strip),   SBN_ARG(plan->per_slice),
        SBN_ARG(g->last_reciprocal), SBN_ARG(out),
    };
    if (replica->form == SBN_FORM_GPU)
        for (size_t i = 0; i < sizeof of_gpu / sizeof *of_gpu; ++i)
            arguments[count++] = of_gpu[i];
    else
        for (size_t i = whole ? 2 : 0; i < SBN_SLICE_ARGUMENTS; ++i)
            arguments[count++] = of_cpu[i];
    return sbn__launch(replica, kernel, arguments, count, 2, plan->work_groups, wait, event);
}

/* Adds partial accumulators. A single slice was written to the accumulators directly. */
static int add_slices(const sbn_chunk *chunk, sbn_replica *replica, const sbn_format *format,
                      cl_uint slices, const sbn_wait *wait, cl_event *event)
{
    const sbn_work *work = &chunk->work[replica->index];
    const cl_uint per_channel = (cl_uint)sbn__accumulator_length(format);
    if (replica->form == SBN_FORM_GPU) {
        const cl_uint total = (cl_uint)(per_channel * chunk->channels);
        const sbn_argument arguments[] = {SBN_ARG(work->partial.mem), SBN_ARG(slices),
                                          SBN_ARG(per_channel), SBN_ARG(total),
                                          SBN_ARG(work->accumulators.mem)};
        const size_t groups = ((size_t)total + SBN_GPU_SLICE_WORDS - 1) / SBN_GPU_SLICE_WORDS;
        return sbn__launch(replica, &replica->kernels.add_slices, arguments, 5, 1, &groups, wait,
                           event);
    }
    const sbn_argument arguments[] = {SBN_ARG(work->partial.mem), SBN_ARG(slices),
                                      SBN_ARG(work->accumulators.mem)};
    const size_t items[] = {per_channel, chunk->channels};
    return sbn__launch(replica, &replica->kernels.add_slices, arguments, 3, 2, items, wait, event);
}

int sbn__reduce(sbn_layer_pass *layer_pass, sbn_chunk *chunk, sbn_replica *replica, int format)
{
    sbn_work *work = &chunk->work[replica->index];
    const sbn_format *fixed = layer_pass->kind->format(format);
    const sbn_shape *shape = &chunk->shapes[replica->index];
    if (shape->values == 0)
        return SBN_SUCCESS;
    const sbn_reduce_plan plan = sbn__plan_reduce(shape, replica, sbn__accumulator_length(fixed));
    int status = reserve(chunk, replica, fixed, plan.slices);
    if (status)
        return status;
    sbn_wait wait = {{NULL}, 0};
    cl_event reduced = NULL, folded = NULL;
    sbn__wait_add(&wait, layer_pass->ready[replica->index]);
    /* Work of the narrow format or of an earlier chunk in the same memory. */
    sbn__wait_add(&wait, work->last);
    status = layer_pass->kind->reduce(layer_pass, chunk, replica, format, &plan, &wait, &reduced);
    if (!status && plan.slices > 1) {
        sbn_wait done = {{NULL}, 0};
        sbn__wait_add(&done, reduced);
        status = add_slices(chunk, replica, fixed, plan.slices, &done, &folded);
    }
    if (reduced)
        sbn__move_event(&work->last, folded ? &folded : &reduced);
    sbn__release_event(&reduced);
    sbn__release_event(&folded);
    return status;
}
