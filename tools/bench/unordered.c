/*
 * Sums in any order (unordered*.cl), on CPUs: channels first in one launch, where the library has one
 * (sbn__plan_whole), and rows in three.
 */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/judge.h"
#include "bench/kernels.h"
#include "plan/sizes.h"

enum { MAX_BLOCK = 64, VECTOR = 16, LAUNCHES = 3 };

/* Elements of a work-item's rows, at most, and bytes of a work-item's planes. */
enum { ROWS_TAKE = 32768, PLANES_TAKE = 1 << 20 };

typedef struct unordered {
    scene *scene;
    int rows; /* channels last, or planes of one element */
    cl_uint units;
    cl_ulong samples, channels, plane, count; /* count: of rows */
    cl_ulong slice, slices;                   /* of rows */
    bench_kernel kernel[BENCH_PASSES][LAUNCHES];
    cl_mem partial, saved, table;
} unordered;

static cl_ulong clamped(cl_ulong n, cl_ulong low, cl_ulong high)
{
    return n < low ? low : n > high ? high : n;
}

/* At least 16 work-items, so that the cores of small CPUs finish together, ... */
static void cut_rows(unordered *u)
{
    const cl_ulong takes = clamped(u->count * u->channels / 64, ROWS_TAKE / 8, ROWS_TAKE);
    /* ... and of wide rows so many that loading and storing the sums costs little. */
    u->slice = clamped(takes / u->channels, clamped(u->count / 16, 1, 64), u->count);
    u->slices = sbn__ceil_div(u->count, u->slice);
}

/*
 * Channels of a work-item: as many as stay in a core's cache, but no more than leave eight work-items
 * for each core, and so many that they begin at a vector.
 */
static cl_ulong block_of(const unordered *u, cl_ulong reads)
{
    const cl_ulong bytes = sizeof(float) * u->count * reads;
    cl_ulong most = clamped(u->channels / (8 * u->units), 1, MAX_BLOCK), step = 1;
    most = clamped(PLANES_TAKE / bytes, 1, most);
    while (step * u->plane % VECTOR != 0)
        step *= 2;
    return most >= step ? most / step * step : clamped(step, 1, u->channels);
}

/* Launch `which` of a pass. All kernels have the same arguments (unordered.cl). */
static int make(unordered *u, bench_pass pass, int which, const char *name, size_t items,
                size_t local)
{
    scene *s = u->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const cl_mem to = mem[pass == BENCH_FORWARD ? TENSOR_Y : TENSOR_DX];
    const cl_mem partial = u->partial ? u->partial : u->table;
    const cl_float n = (cl_float)u->count, eps = (cl_float)s->p.eps;
    const cl_int affine = s->p.affine;
    const cl_int streams = sizeof(float) * u->count * u->channels > (cl_ulong)u->units << 21;
    const cl_ulong block = u->rows ? u->slice : block_of(u, pass == BENCH_FORWARD ? 1 : 2);
    bench_kernel *k = &u->kernel[pass][which];
    const int status = bench_kernel_make(
        s, name,
        BENCH_ARGUMENTS(SBN_ARG(mem[TENSOR_X]), SBN_ARG(mem[TENSOR_DY]), SBN_ARG(to),
                        SBN_ARG(mem[TENSOR_WEIGHT]), SBN_ARG(mem[TENSOR_BIAS]),
                        SBN_ARG(mem[TENSOR_WEIGHT_GRAD]), SBN_ARG(mem[TENSOR_BIAS_GRAD]),
                        SBN_ARG(u->saved), SBN_ARG(u->table), SBN_ARG(partial), SBN_ARG(u->samples),
                        SBN_ARG(u->channels), SBN_ARG(u->plane), SBN_ARG(u->count), SBN_ARG(block),
                        SBN_ARG(u->slices), SBN_ARG(n), SBN_ARG(eps), SBN_ARG(affine),
                        SBN_ARG(streams)),
        items ? items : sbn__ceil_div(u->channels, block), local, k);
    return status || k->kernel ? status : job_failed_here(s->error, name, CL_INVALID_KERNEL_NAME);
}

static int run(void *self, bench_pass pass)
{
    unordered *u = self;
    int status = SBN_SUCCESS;
    for (int i = 0; i < LAUNCHES && !status; ++i)
        status = bench_enqueue(u->scene, &u->kernel[pass][i]);
    return status ? status : job_finish(&u->scene->job);
}

static int check(void *self)
{
    unordered *u = self;
    int status = bench_overwrite(u->scene, &u->scene->job);
    status = status ? status : run(u, BENCH_FORWARD);
    status = status ? status : run(u, BENCH_BACKWARD);
    return status ? status : bench_judge_results(u->scene);
}

static void close(void *self)
{
    unordered *u = self;
    const cl_mem buffers[] = {u->partial, u->saved, u->table};
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass)
        for (int i = 0; i < LAUNCHES; ++i)
            bench_kernel_release(&u->kernel[pass][i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    free(u);
}

static int open_rows(unordered *u, bench_pass pass, const char *const names[LAUNCHES])
{
    int status = make(u, pass, 0, names[0], u->slices, 1);
    status = status ? status : make(u, pass, 1, names[1], u->channels, 64);
    return status ? status : make(u, pass, 2, names[2], u->slices, 1);
}

static int open_kernels(unordered *u)
{
    static const char *const forward[] = {"rows_forward", "finish_forward", "rows_y"};
    static const char *const backward[] = {"rows_backward", "finish_backward", "rows_dx"};
    scene *s = u->scene;
    int status = bench_buffer_make(s, 2 * u->channels, &u->saved);
    status = status ? status : bench_buffer_make(s, 3 * u->channels, &u->table);
    if (!u->rows) {
        status = status ? status : make(u, BENCH_FORWARD, 0, "planes_forward", 0, 1);
        return status ? status : make(u, BENCH_BACKWARD, 0, "planes_backward", 0, 1);
    }
    cut_rows(u);
    status = status ? status : bench_buffer_make(s, 2 * u->slices * u->channels, &u->partial);
    status = status ? status : open_rows(u, BENCH_FORWARD, forward);
    return status ? status : open_rows(u, BENCH_BACKWARD, backward);
}

int bench_unordered_open(scene *s, contender_list *all)
{
    const cl_ulong plane = s->g.plane[0];
    const int rows = s->p.layout == SBN_LAYOUT_NHWC || plane == 1;
    const cl_uint units = (cl_uint)s->replica->compute_units;
    if (s->replica->form == SBN_FORM_GPU ||
        (!rows && (plane < VECTOR || s->g.channels < 2 * units)))
        return SBN_SUCCESS;
    unordered *u = calloc(1, sizeof *u);
    if (!u)
        return job_failed_here(s->error, "unordered", SBN_OUT_OF_MEMORY);
    *u = (unordered){.scene = s,
                     .rows = rows,
                     .units = units,
                     .samples = s->g.samples,
                     .channels = s->g.channels,
                     .plane = plane,
                     .count = s->g.samples * plane};
    all->of[all->count++] = (contender){.name = "unordered",
                                        .passes = BENCH_TRAINING,
                                        .self = u,
                                        .run = run,
                                        .check = check,
                                        .close = close};
    return open_kernels(u);
}
