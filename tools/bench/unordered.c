/* Unordered sums: how the batch is divided among the work-items of unordered*.cl. */
#include "bench/unordered.h"

#include <stdlib.h>

#include "bench/stages.h"

enum { PARTIAL, SAVED, TABLE };
enum { GROUP = 256, ROW_CHANNELS = 64, MAX_BLOCK = 64, VECTOR = 16 };

/* Elements per work-item of the sums on a CPU, at least; per work-group on a GPU. */
enum { CPU_TAKES = 32768, GPU_TAKES = 8192 };

/* How a batch is divided. The kernels' arguments have the same names. */
typedef struct cut {
    int rows; /* channels last, or planes of one element */
    cl_ulong samples, channels, plane;
    cl_ulong block, slice, slices; /* of the sums */
    size_t sum_items, sum_local;
    cl_ulong run;   /* planes or rows per work-item of the apply */
    cl_ulong whole; /* channels per work-item that sums and applies; 0: separate launches */
    cl_int streams; /* non-temporal stores */
    size_t apply_items, apply_local;
} cut;

static cl_ulong divided(cl_ulong n, cl_ulong by)
{
    return (n + by - 1) / by;
}

static cl_ulong clamped(cl_ulong n, cl_ulong low, cl_ulong high)
{
    return n < low ? low : n > high ? high : n;
}

static void cut_cpu(cut *k)
{
    cl_ulong all = k->samples * k->channels * k->plane;
    /* At least 16 work-items, so that the cores of small CPUs finish together. */
    cl_ulong takes = clamped(all / 64, CPU_TAKES / 8, CPU_TAKES);
    k->sum_local = k->apply_local = 1;
    if (k->rows) {
        /* For wide rows, so many that loading and storing the sums costs little. */
        const cl_ulong rows = k->samples * k->plane;
        k->slice = clamped(takes / k->channels, clamped(rows / 16, 1, 64), rows);
        k->slices = divided(k->samples * k->plane, k->slice);
        k->sum_items = k->slices;
        k->run = k->slice;
        k->apply_items = k->slices;
        return;
    }
    k->block = clamped(divided(2048, k->plane), 1, clamped(k->channels, 1, MAX_BLOCK));
    k->slice = clamped(takes / (k->block * k->plane), 1, k->samples);
    k->slices = divided(k->samples, k->slice);
    k->sum_items = k->slices * divided(k->channels, k->block);
    /* A run begins at a multiple of the vector size. */
    k->run = divided(clamped(takes / k->plane, 1, k->samples * k->channels), VECTOR) * VECTOR;
    if (k->plane % VECTOR == 0)
        k->run = clamped(takes / k->plane, 1, k->samples * k->channels);
    k->apply_items = divided(k->samples * k->channels, k->run);
}

/*
 * Channels per work-item in one launch: as many as stay in a core's cache, but no more than leave
 * eight work-items for each core. `tensors`: how many the sums read.
 */
static void cut_whole(cut *k, cl_ulong units, cl_ulong reads)
{
    const cl_ulong bytes = sizeof(float) * k->samples * k->plane;
    if (k->rows || k->plane < VECTOR || k->channels < 2 * units)
        return;
    cl_ulong most = clamped(k->channels / (8 * units), 1, MAX_BLOCK);
    most = clamped(((cl_ulong)1 << 20) / (bytes * reads), 1, most);
    /* A run begins at a multiple of the vector size. */
    cl_ulong step = 1;
    while (step * k->plane % VECTOR != 0)
        step *= 2;
    k->whole = most >= step ? most / step * step : clamped(step, 1, k->channels);
    k->streams = bytes * k->channels > units << 21;
}

static void cut_gpu(cut *k)
{
    cl_ulong values = k->samples * k->plane;
    k->sum_local = k->apply_local = GROUP;
    k->run = k->block = 1;
    k->slice = k->rows ? GPU_TAKES / ROW_CHANNELS : GPU_TAKES;
    k->slices = divided(values, k->slice);
    k->sum_items = GROUP * k->slices * (k->rows ? divided(k->channels, ROW_CHANNELS) : k->channels);
    k->apply_items = values * k->channels;
}

static cut cut_of(const scene *s, cl_ulong reads)
{
    cl_uint units = 1;
    cut k = {.samples = s->g.samples, .channels = s->g.channels, .plane = s->g.plane[0]};
    k.rows = s->p.layout == SBN_LAYOUT_NHWC || k.plane == 1;
    if (s->form == SBN_FORM_GPU)
        cut_gpu(&k);
    else
        cut_cpu(&k);
    clGetDeviceInfo(s->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    if (s->form != SBN_FORM_GPU)
        cut_whole(&k, units, reads);
    return k;
}

static int add_forward(stages *st, cl_program program, const cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane, first = k->rows ? 1 : k->plane;
    const cl_float n = (cl_float)rows, eps = (cl_float)st->scene->p.eps;
    const cl_int affine = st->scene->p.affine;
    const bench_argument of_planes[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(k->samples),
                                        BENCH_ARG(k->channels),        BENCH_ARG(k->plane),
                                        BENCH_ARG(k->block),           BENCH_ARG(k->slice),
                                        BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument of_rows[] = {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(rows),
                                      BENCH_ARG(k->channels), BENCH_ARG(k->slice),
                                      BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument finish[] = {BENCH_ARG(st->buffer[PARTIAL]),
                                     BENCH_ARG(k->slices),
                                     BENCH_ARG(t->mem[TENSOR_X]),
                                     BENCH_ARG(first),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(n),
                                     BENCH_ARG(eps),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                     BENCH_ARG(t->mem[TENSOR_BIAS]),
                                     BENCH_ARG(affine),
                                     BENCH_ARG(st->buffer[SAVED]),
                                     BENCH_ARG(st->buffer[TABLE])};
    const bench_argument y_planes[] = {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(st->buffer[TABLE]),
                                       BENCH_ARG(k->samples),       BENCH_ARG(k->channels),
                                       BENCH_ARG(k->plane),         BENCH_ARG(k->run),
                                       BENCH_ARG(t->mem[TENSOR_Y])};
    const bench_argument y_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                     BENCH_ARG(st->buffer[TABLE]),
                                     BENCH_ARG(rows),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(k->run),
                                     BENCH_ARG(t->mem[TENSOR_Y])};
    const bench_argument whole[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                    BENCH_ARG(k->samples),
                                    BENCH_ARG(k->channels),
                                    BENCH_ARG(k->plane),
                                    BENCH_ARG(k->whole),
                                    BENCH_ARG(n),
                                    BENCH_ARG(eps),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                    BENCH_ARG(t->mem[TENSOR_BIAS]),
                                    BENCH_ARG(affine),
                                    BENCH_ARG(st->buffer[SAVED]),
                                    BENCH_ARG(st->buffer[TABLE]),
                                    BENCH_ARG(k->streams),
                                    BENCH_ARG(t->mem[TENSOR_Y])};
    if (k->whole)
        return stages_add(st, BENCH_FORWARD, program, "whole_forward", whole, 14,
                          divided(k->channels, k->whole), 1);
    int status = k->rows ? stages_add(st, BENCH_FORWARD, program, "rows_forward", of_rows, 5,
                                      k->sum_items, k->sum_local)
                         : stages_add(st, BENCH_FORWARD, program, "planes_forward", of_planes, 7,
                                      k->sum_items, k->sum_local);
    status = status ? status
                    : stages_add(st, BENCH_FORWARD, program, "finish_forward", finish, 12,
                                 k->channels, 64);
    return status    ? status
           : k->rows ? stages_add(st, BENCH_FORWARD, program, "rows_y", y_rows, 6, k->apply_items,
                                  k->apply_local)
                     : stages_add(st, BENCH_FORWARD, program, "planes_y", y_planes, 7,
                                  k->apply_items, k->apply_local);
}

static int add_backward(stages *st, cl_program program, const cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane;
    const cl_float n = (cl_float)rows;
    const cl_int affine = st->scene->p.affine;
    const bench_argument of_planes[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(t->mem[TENSOR_DY]),
                                        BENCH_ARG(st->buffer[SAVED]),  BENCH_ARG(k->samples),
                                        BENCH_ARG(k->channels),        BENCH_ARG(k->plane),
                                        BENCH_ARG(k->block),           BENCH_ARG(k->slice),
                                        BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument of_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(t->mem[TENSOR_DY]),
                                      BENCH_ARG(st->buffer[SAVED]),  BENCH_ARG(rows),
                                      BENCH_ARG(k->channels),        BENCH_ARG(k->slice),
                                      BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument finish[] = {BENCH_ARG(st->buffer[PARTIAL]),
                                     BENCH_ARG(k->slices),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(n),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                     BENCH_ARG(affine),
                                     BENCH_ARG(st->buffer[SAVED]),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                     BENCH_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                     BENCH_ARG(st->buffer[TABLE])};
    const bench_argument dx_planes[] =
        {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(t->mem[TENSOR_DY]), BENCH_ARG(st->buffer[TABLE]),
         BENCH_ARG(k->samples),       BENCH_ARG(k->channels),       BENCH_ARG(k->plane),
         BENCH_ARG(k->run),           BENCH_ARG(t->mem[TENSOR_DX])};
    const bench_argument dx_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),  BENCH_ARG(t->mem[TENSOR_DY]),
                                      BENCH_ARG(st->buffer[TABLE]), BENCH_ARG(rows),
                                      BENCH_ARG(k->channels),       BENCH_ARG(k->run),
                                      BENCH_ARG(t->mem[TENSOR_DX])};
    const bench_argument whole[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                    BENCH_ARG(t->mem[TENSOR_DY]),
                                    BENCH_ARG(k->samples),
                                    BENCH_ARG(k->channels),
                                    BENCH_ARG(k->plane),
                                    BENCH_ARG(k->whole),
                                    BENCH_ARG(n),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                    BENCH_ARG(affine),
                                    BENCH_ARG(st->buffer[SAVED]),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                    BENCH_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                    BENCH_ARG(st->buffer[TABLE]),
                                    BENCH_ARG(k->streams),
                                    BENCH_ARG(t->mem[TENSOR_DX])};
    if (k->whole)
        return stages_add(st, BENCH_BACKWARD, program, "whole_backward", whole, 15,
                          divided(k->channels, k->whole), 1);
    int status = k->rows ? stages_add(st, BENCH_BACKWARD, program, "rows_backward", of_rows, 7,
                                      k->sum_items, k->sum_local)
                         : stages_add(st, BENCH_BACKWARD, program, "planes_backward", of_planes, 9,
                                      k->sum_items, k->sum_local);
    status = status ? status
                    : stages_add(st, BENCH_BACKWARD, program, "finish_backward", finish, 10,
                                 k->channels, 64);
    return status    ? status
           : k->rows ? stages_add(st, BENCH_BACKWARD, program, "rows_dx", dx_rows, 7,
                                  k->apply_items, k->apply_local)
                     : stages_add(st, BENCH_BACKWARD, program, "planes_dx", dx_planes, 8,
                                  k->apply_items, k->apply_local);
}

int bench_unordered_open(scene *s, cl_program program, contender *made)
{
    const cut k = cut_of(s, 1), backward = cut_of(s, 2);
    stages *st = calloc(1, sizeof *st);
    if (!st)
        return job_failed_here(s->error, "unordered", SBN_OUT_OF_MEMORY);
    st->name = "unordered";
    st->scene = s;
    *made = stages_contender(st);
    int status = stages_buffer(st, PARTIAL, 2 * k.slices * k.channels);
    status = status ? status : stages_buffer(st, SAVED, 2 * k.channels);
    status = status ? status : stages_buffer(st, TABLE, 3 * k.channels);
    status = status ? status : add_forward(st, program, &k);
    status = status ? status : add_backward(st, program, &backward);
    if (status)
        made->close(st);
    return status;
}
