/*
 * Elements beyond 2^32 in the reductions of both forms, without the memory of such tensors: the
 * kernels themselves on one strip of the channels of a few samples, whose other channels are
 * reserved addresses. The accumulators must be those of a tensor of these channels alone.
 */
#include <string.h>

#include "device/commands.h"
#include "exact/format.h"
#include "group/group.h"

#include "support/address_space.h"
#include "support/fixture.h"

static fixture device;
static cl_command_queue queue;
static sbn_replica *replica;

enum { SAMPLES = 3, MOST_WORDS = 4096 };

/* A kernel, and a tensor of which it sums the first `strip` channels. */
typedef struct reduction {
    sbn_kernel_form form;
    int kernel, last; /* channels are last in memory */
    cl_uint channels, plane, strip, log2_strip;
} reduction;

static const reduction reductions[] = {
    {SBN_FORM_CPU, SBN_REDUCE_NCHW, 0, 1u << 24, 300, 4, 2},
    {SBN_FORM_CPU, SBN_REDUCE_NCHW, 0, 1u << 24, 300, 1, 0},
    {SBN_FORM_CPU, SBN_REDUCE_NHWC, 1, 1u << 29, 9, 32, 5},
    {SBN_FORM_CPU, SBN_REDUCE_NHWC, 1, 0x7fffffff, 1, 32, 5},
    {SBN_FORM_GPU, SBN_REDUCE_LARGE_PLANES, 0, 1u << 24, 300, 1, 0},
    {SBN_FORM_GPU, SBN_REDUCE_SMALL_PLANES, 0, 1u << 27, 49, 8, 3},
    {SBN_FORM_GPU, SBN_REDUCE_COLUMNS, 1, 1u << 29, 9, 32, 5},
    {SBN_FORM_GPU, SBN_REDUCE_ROWS, 1, 0x7fffffff, 1, 32, 5},
};

/* x, dy, and the means. */
enum { X, DY, TABLE, SPACES };

static address_space spaces[SPACES];

static void fill(const reduction *r, size_t channels)
{
    unsigned state = 1;
    for (size_t n = 0; n < SAMPLES; ++n)
        for (size_t c = 0; c < r->strip; ++c)
            for (size_t i = 0; i < r->plane; ++i) {
                const size_t at = r->last ? (n * r->plane + i) * channels + c
                                          : (n * channels + c) * r->plane + i;
                for (int k = X; k <= DY; ++k) {
                    state = 1664525 * state + 1013904223;
                    spaces[k].at[at] = (float)(state >> 8) / (1 << 23) - 0.75f;
                }
            }
    for (size_t c = 0; c < r->strip; ++c)
        spaces[TABLE].at[c] = (float)c / 64;
}

static void launch(const reduction *r, size_t channels, int back, int format, cl_mem partial)
{
    const cl_ulong offset = 0;
    const cl_uint gap = 0;
    const cl_uint total = (cl_uint)channels, samples = SAMPLES;
    const cl_uint plane = r->plane, blocks = (plane + SBN_BLOCK - 1) / SBN_BLOCK;
    const cl_uint units = samples * blocks, strip = r->strip;
    const cl_float last_reciprocal = 1.0f / (float)(plane - (blocks - 1) * SBN_BLOCK);
    const cl_mem repeat = NULL;
    sbn_argument arguments[18];
    size_t n = 0;
#define ADD(variable) arguments[n++] = (sbn_argument)SBN_ARG(variable)
    ADD(spaces[X].mem);
    ADD(offset);
    ADD(gap);
    if (back) {
        ADD(spaces[DY].mem);
        ADD(offset);
        ADD(gap);
        ADD(spaces[TABLE].mem);
    }
    if (r->form == SBN_FORM_CPU)
        ADD(samples);
    ADD(total);
    ADD(plane);
    ADD(blocks);
    if (r->form == SBN_FORM_GPU) {
        ADD(units);
        ADD(r->log2_strip);
    } else {
        ADD(strip);
    }
    ADD(units);
    ADD(last_reciprocal);
    ADD(partial);
    if (format == SBN_WIDE)
        ADD(repeat);
    sbn_kernels *kernels = &replica->kernels[SBN_F32][0];
    sbn_kernel *kernel = back ? &kernels->backward_reduce[r->kernel][format]
                              : &kernels->forward_reduce[r->kernel][format];
    const size_t groups[] = {1, 1};
    const sbn_wait wait = {{NULL}, 0};
    cl_event event;
    must(sbn__launch(replica, kernel, arguments, n, 2, groups, &wait, &event), "launch");
    must(clWaitForEvents(1, &event), "clWaitForEvents");
    sbn__release_event(&event);
}

/* The accumulators of the strip in a tensor of so many channels; 0 where it has no room. */
static int sum(const reduction *r, size_t channels, int back, int format, cl_mem partial,
               int64_t *out)
{
    const size_t elements = SAMPLES * channels * r->plane;
    int opened = 1;
    for (int i = 0; i < SPACES; ++i)
        opened = address_space_open(&spaces[i], device.context, i == TABLE ? channels : elements) &&
                 opened;
    if (opened) {
        fill(r, channels);
        launch(r, channels, back, format, partial);
        must(clEnqueueReadBuffer(queue, partial, CL_TRUE, 0, sizeof(int64_t) * MOST_WORDS, out, 0,
                                 NULL, NULL),
             "clEnqueueReadBuffer");
    }
    for (int i = 0; i < SPACES; ++i)
        address_space_close(&spaces[i]);
    return opened;
}

static void check(const reduction *r, int back, int format, cl_mem partial)
{
    static int64_t near_sums[MOST_WORDS], far_sums[MOST_WORDS];
    const sbn_format *fixed = back ? sbn__backward_format(format) : sbn__forward_format(format);
    const size_t words = sbn__accumulator_length(fixed) * r->strip;
    memset(near_sums, 0, sizeof near_sums);
    must(!sum(r, r->strip, back, format, partial, near_sums), "a small tensor");
    if (!sum(r, r->channels, back, format, partial, far_sums)) {
        tap_skip("%zu GB of address space cannot be reserved",
                 2 * sizeof(float) * SAMPLES * r->channels * r->plane >> 30);
        return;
    }
    /* Every channel has seen elements. */
    const size_t of_channel = words / r->strip;
    int all = 1;
    for (size_t c = 0; c < r->strip; ++c)
        all = all && near_sums[(c + 1) * of_channel - 1] == SBN_FLAG_CLEAR;
    tap_ok(all && memcmp(near_sums, far_sums, sizeof(int64_t) * words) == 0,
           "%s, %s: %u channels of %u of %zu elements in %d samples",
           sbn__reduction_name(r->kernel, back), format == SBN_WIDE ? "wide" : "narrow", r->strip,
           r->channels, (size_t)r->channels * r->plane, SAMPLES);
}

static void checks(void)
{
    cl_int code;
    cl_mem partial = clCreateBuffer(device.context, CL_MEM_READ_WRITE, sizeof(int64_t) * MOST_WORDS,
                                    NULL, &code);
    must(code, "clCreateBuffer");
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        sbn_group *group = fixture_group(queue, 1, form);
        replica = &group->replicas[0];
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i)
            for (int back = 0; back < 2 && reductions[i].form == form; ++back)
                for (int format = SBN_NARROW; format <= SBN_WIDE; ++format)
                    check(&reductions[i], back, format, partial);
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
    clReleaseMemObject(partial);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
