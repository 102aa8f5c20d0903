#include "bench/unordered_cut.h"

enum { GROUP = 256, ROW_CHANNELS = 64, MAX_BLOCK = 64, VECTOR = 16 };

/* Elements per work-item of the sums on a CPU, at least; per work-group on a GPU. */
enum { CPU_TAKES = 32768, GPU_TAKES = 8192 };

static cl_ulong divided(cl_ulong n, cl_ulong by)
{
    return (n + by - 1) / by;
}

static cl_ulong clamped(cl_ulong n, cl_ulong low, cl_ulong high)
{
    return n < low ? low : n > high ? high : n;
}

static void cut_cpu(bench_cut *k)
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
 * eight work-items for each core.
 */
static void cut_whole(bench_cut *k, cl_ulong units, cl_ulong reads)
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
    k->whole_items = divided(k->channels, k->whole);
    k->streams = bytes * k->channels > units << 21;
}

static void cut_gpu(bench_cut *k)
{
    cl_ulong values = k->samples * k->plane;
    k->sum_local = k->apply_local = GROUP;
    k->run = k->block = 1;
    k->slice = k->rows ? GPU_TAKES / ROW_CHANNELS : GPU_TAKES;
    k->slices = divided(values, k->slice);
    k->sum_items = GROUP * k->slices * (k->rows ? divided(k->channels, ROW_CHANNELS) : k->channels);
    k->apply_items = values * k->channels;
}

bench_cut bench_cut_of(const scene *s, cl_ulong reads)
{
    cl_uint units = 1;
    bench_cut k = {.samples = s->g.samples, .channels = s->g.channels, .plane = s->g.plane[0]};
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
