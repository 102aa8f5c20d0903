/*
 * Sums in any order (unordered*.cl), on CPUs: channels first in one launch, where the library has one
 * (sbn__plan_whole), and rows in three.
 */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/judge.h"
#include "bench/kernels.h"

enum { SUM, FINISH, APPLY, KERNELS, ALL = SUM, MAX_BLOCK = 64, VECTOR = 16 };

/* Elements of a work-item's rows, at most, and bytes of a work-item's planes. */
enum { ROWS_TAKE = 32768, PLANES_TAKE = 1 << 20 };

static const char name[] = "unordered";

typedef struct unordered {
    scene *scene;
    int rows; /* channels last, or planes of one element */
    cl_uint units;
    cl_ulong samples, channels, plane, count; /* count: of rows */
    cl_ulong slice, slices;                   /* of rows */
    bench_kernel kernel[BENCH_PASSES][KERNELS];
    cl_mem partial, saved, table;
} unordered;

static cl_ulong divided(cl_ulong n, cl_ulong by)
{
    return (n + by - 1) / by;
}

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
    u->slices = divided(u->count, u->slice);
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

static int make_buffer(const unordered *u, size_t floats, cl_mem *made)
{
    cl_int status;
    *made = clCreateBuffer(u->scene->context, CL_MEM_READ_WRITE, floats * sizeof(float), NULL,
                           &status);
    if (status)
        *made = NULL;
    return status ? job_failed_here(u->scene->error, "clCreateBuffer", status) : SBN_SUCCESS;
}

/* The arguments of a kernel, and how many there are. */
#define LIST(...) \
    (const sbn_argument[]){__VA_ARGS__}, \
        sizeof((const sbn_argument[]){__VA_ARGS__}) / sizeof(sbn_argument)

static int make(unordered *u, bench_pass pass, int which, cl_program program, const char *kernel,
                const sbn_argument *arguments, size_t count, size_t items, size_t local)
{
    bench_kernel *k = &u->kernel[pass][which];
    const int status = bench_kernel_make(u->scene, program, kernel, arguments, count, items, local,
                                         k);
    return status || k->kernel ? status
                               : job_failed_here(u->scene->error, kernel, CL_INVALID_KERNEL_NAME);
}

static int make_planes(unordered *u, cl_program program)
{
    const cl_mem *mem = u->scene->job.tensors->mem;
    const cl_float n = (cl_float)u->count, eps = (cl_float)u->scene->p.eps;
    const cl_int affine = u->scene->p.affine;
    const cl_int streams = sizeof(float) * u->count * u->channels > (cl_ulong)u->units << 21;
    cl_ulong block = block_of(u, 1);
    const int status = make(u, BENCH_FORWARD, ALL, program, "planes_forward",
                            LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(u->samples), SBN_ARG(u->channels),
                                 SBN_ARG(u->plane), SBN_ARG(block), SBN_ARG(n), SBN_ARG(eps),
                                 SBN_ARG(mem[TENSOR_WEIGHT]), SBN_ARG(mem[TENSOR_BIAS]),
                                 SBN_ARG(affine), SBN_ARG(u->saved), SBN_ARG(u->table),
                                 SBN_ARG(streams), SBN_ARG(mem[TENSOR_Y])),
                            divided(u->channels, block), 1);
    if (status)
        return status;
    block = block_of(u, 2);
    return make(u, BENCH_BACKWARD, ALL, program, "planes_backward",
                LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(mem[TENSOR_DY]), SBN_ARG(u->samples),
                     SBN_ARG(u->channels), SBN_ARG(u->plane), SBN_ARG(block), SBN_ARG(n),
                     SBN_ARG(mem[TENSOR_WEIGHT]), SBN_ARG(affine), SBN_ARG(u->saved),
                     SBN_ARG(mem[TENSOR_WEIGHT_GRAD]), SBN_ARG(mem[TENSOR_BIAS_GRAD]),
                     SBN_ARG(u->table), SBN_ARG(streams), SBN_ARG(mem[TENSOR_DX])),
                divided(u->channels, block), 1);
}

static int make_rows_forward(unordered *u, cl_program program)
{
    const cl_mem *mem = u->scene->job.tensors->mem;
    const cl_float n = (cl_float)u->count, eps = (cl_float)u->scene->p.eps;
    const cl_int affine = u->scene->p.affine;
    int status = make(u, BENCH_FORWARD, SUM, program, "rows_forward",
                      LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(u->count), SBN_ARG(u->channels),
                           SBN_ARG(u->slice), SBN_ARG(u->partial)),
                      u->slices, 1);
    if (!status)
        status = make(u, BENCH_FORWARD, FINISH, program, "finish_forward",
                      LIST(SBN_ARG(u->partial), SBN_ARG(u->slices), SBN_ARG(mem[TENSOR_X]),
                           SBN_ARG(u->channels), SBN_ARG(n), SBN_ARG(eps),
                           SBN_ARG(mem[TENSOR_WEIGHT]), SBN_ARG(mem[TENSOR_BIAS]), SBN_ARG(affine),
                           SBN_ARG(u->saved), SBN_ARG(u->table)),
                      u->channels, 64);
    return status ? status
                  : make(u, BENCH_FORWARD, APPLY, program, "rows_y",
                         LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(u->table), SBN_ARG(u->count),
                              SBN_ARG(u->channels), SBN_ARG(u->slice), SBN_ARG(mem[TENSOR_Y])),
                         u->slices, 1);
}

static int make_rows_backward(unordered *u, cl_program program)
{
    const cl_mem *mem = u->scene->job.tensors->mem;
    const cl_float n = (cl_float)u->count;
    const cl_int affine = u->scene->p.affine;
    int status = make(u, BENCH_BACKWARD, SUM, program, "rows_backward",
                      LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(mem[TENSOR_DY]), SBN_ARG(u->saved),
                           SBN_ARG(u->count), SBN_ARG(u->channels), SBN_ARG(u->slice),
                           SBN_ARG(u->partial)),
                      u->slices, 1);
    if (!status)
        status = make(u, BENCH_BACKWARD, FINISH, program, "finish_backward",
                      LIST(SBN_ARG(u->partial), SBN_ARG(u->slices), SBN_ARG(u->channels),
                           SBN_ARG(n), SBN_ARG(mem[TENSOR_WEIGHT]), SBN_ARG(affine),
                           SBN_ARG(u->saved), SBN_ARG(mem[TENSOR_WEIGHT_GRAD]),
                           SBN_ARG(mem[TENSOR_BIAS_GRAD]), SBN_ARG(u->table)),
                      u->channels, 64);
    return status ? status
                  : make(u, BENCH_BACKWARD, APPLY, program, "rows_dx",
                         LIST(SBN_ARG(mem[TENSOR_X]), SBN_ARG(mem[TENSOR_DY]), SBN_ARG(u->table),
                              SBN_ARG(u->count), SBN_ARG(u->channels), SBN_ARG(u->slice),
                              SBN_ARG(mem[TENSOR_DX])),
                         u->slices, 1);
}

static int run(void *self, bench_pass pass)
{
    unordered *u = self;
    int status = SBN_SUCCESS;
    for (int i = 0; i < KERNELS && !status; ++i)
        if (u->kernel[pass][i].kernel)
            status = bench_enqueue(u->scene, &u->kernel[pass][i]);
    return status ? status : bench_finish(u->scene);
}

static int check(void *self)
{
    unordered *u = self;
    int status = bench_overwrite(u->scene, u->scene->job.tensors);
    status = status ? status : run(u, BENCH_FORWARD);
    status = status ? status : run(u, BENCH_BACKWARD);
    return status ? status : bench_judge_results(u->scene, name);
}

static void close(void *self)
{
    unordered *u = self;
    const cl_mem buffers[] = {u->partial, u->saved, u->table};
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass)
        for (int i = 0; i < KERNELS; ++i)
            bench_kernel_release(&u->kernel[pass][i]);
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        if (buffers[i])
            clReleaseMemObject(buffers[i]);
    free(u);
}

static int open_kernels(unordered *u, cl_program program)
{
    if (u->rows)
        cut_rows(u);
    int status = u->rows ? make_buffer(u, 2 * u->slices * u->channels, &u->partial) : SBN_SUCCESS;
    status = status ? status : make_buffer(u, 2 * u->channels, &u->saved);
    status = status ? status : make_buffer(u, 3 * u->channels, &u->table);
    if (status || !u->rows)
        return status ? status : make_planes(u, program);
    status = make_rows_forward(u, program);
    return status ? status : make_rows_backward(u, program);
}

int bench_unordered_open(scene *s, cl_program program, contender *made, size_t *count)
{
    const cl_ulong plane = s->g.plane[0];
    unordered u = {.scene = s,
                   .rows = s->p.layout == SBN_LAYOUT_NHWC || plane == 1,
                   .samples = s->g.samples,
                   .channels = s->g.channels,
                   .plane = plane,
                   .count = s->g.samples * plane};
    *count = 0;
    clGetDeviceInfo(s->device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof u.units, &u.units, NULL);
    if (s->form == SBN_FORM_GPU || (!u.rows && (plane < VECTOR || u.channels < 2 * u.units)))
        return SBN_SUCCESS;
    unordered *kept = malloc(sizeof *kept);
    if (!kept)
        return job_failed_here(s->error, name, SBN_OUT_OF_MEMORY);
    *kept = u;
    const int status = open_kernels(kept, program);
    if (status) {
        close(kept);
        return status;
    }
    made[(*count)++] = (contender){.name = name,
                                   .passes = 1u << BENCH_FORWARD | 1u << BENCH_BACKWARD,
                                   .self = kept,
                                   .run = run,
                                   .check = check,
                                   .close = close};
    return SBN_SUCCESS;
}
