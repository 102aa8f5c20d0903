/*
 * Elements beyond 2^32 in the reductions of both forms, without the memory of such tensors: the
 * kernels themselves on one strip of the channels of a few samples, whose other channels are
 * reserved addresses. The accumulators must be those of a tensor of these channels alone. Where planes have
 * rows of their own in a mask, of four channels' first blocks: as of small planes.
 */
#include <string.h>

#include "base/activation.h"
#include "check/mix.h"
#include "exact/format.h"
#include "group/group.h"
#include "launch/combining.h"

#include "support/address_space.h"
#include "support/main.h"

static sbn_replica *replica;

enum { SAMPLES = 3, MOST_WORDS = 4096, SMALL_PLANE = SBN_BLOCK + 3 };

/* A kernel, and a tensor of which it sums the first `strip` channels. */
typedef struct reduction {
    sbn_kernel_form form;
    int kernel, last; /* channels are last in memory */
    cl_uint channels, plane, strip, log2_strip;
    int masked; /* a work-group for each channel, which sums the first block of its plane */
} reduction;

static const reduction reductions[] = {
    {SBN_FORM_CPU, SBN_REDUCE_NCHW, 0, 1u << 24, 300, 4, 2, 0},
    {SBN_FORM_CPU, SBN_REDUCE_NCHW, 0, 1u << 24, 300, 1, 0, 0},
    {SBN_FORM_CPU, SBN_REDUCE_NHWC, 1, 1u << 29, 9, 32, 5, 0},
    {SBN_FORM_CPU, SBN_REDUCE_NHWC, 1, 0x7fffffff, 1, 32, 5, 0},
    {SBN_FORM_GPU, SBN_REDUCE_LARGE_PLANES, 0, 1u << 24, 300, 1, 0, 0},
    {SBN_FORM_GPU, SBN_REDUCE_SMALL_PLANES, 0, 1u << 27, 49, 8, 3, 0},
    {SBN_FORM_GPU, SBN_REDUCE_LARGE_PLANES, 1, 1u << 24, 300, 16, 4, 0},
    {SBN_FORM_GPU, SBN_REDUCE_SMALL_PLANES, 1, 1u << 29, 9, 16, 4, 0},
    {SBN_FORM_GPU, SBN_REDUCE_ROWS, 1, 0x7fffffff, 1, 32, 5, 0},
    {SBN_FORM_GPU, SBN_REDUCE_LARGE_PLANES, 0, 4, 0x7ffffffb, 4, 0, 1},
};

/* The tensor of a reduction, or a small one that has its strip. */
typedef struct tensor {
    size_t samples, channels, plane, filled; /* of each plane's elements */
} tensor;

static tensor tensor_of(const reduction *r, int is_small)
{
    if (r->masked)
        return (tensor){1, r->strip, is_small ? SMALL_PLANE : r->plane, SBN_BLOCK};
    return (tensor){SAMPLES, is_small ? r->strip : r->channels, r->plane, r->plane};
}

/* x, dy, the means, and four elements' signs in a byte. */
enum { X, DY, TABLE, MASK, SPACES };

static address_space spaces[SPACES];

static size_t mask_row(const tensor *t)
{
    return (t->plane + 3) / 4;
}

static void fill(const reduction *r, const tensor *t, float scale)
{
    uint64_t number = 0;
    for (size_t n = 0; n < t->samples; ++n)
        for (size_t c = 0; c < r->strip; ++c)
            for (size_t i = 0; i < t->filled; ++i) {
                const size_t at = r->last ? (n * t->plane + i) * t->channels + c
                                          : (n * t->channels + c) * t->plane + i;
                for (int k = X; k <= DY; ++k)
                    spaces[k].at[at] = scale * ((float)(mix(1, ++number) >> 40) * 0x1p-23f - 0.75f);
            }
    for (size_t c = 0; c < r->strip; ++c)
        spaces[TABLE].at[c] = (float)c / 64;
    unsigned char *const signs = (unsigned char *)spaces[MASK].at;
    for (size_t c = 0; c < r->strip && r->masked; ++c)
        for (size_t i = 0; i < t->filled / 4; ++i)
            signs[c * mask_row(t) + i] = (unsigned char)(mix(c, i) >> 60);
}

static void launch(const reduction *r, const tensor *t, int back, cl_mem to, cl_mem wide_to)
{
    const cl_uint plane = (cl_uint)t->plane, blocks = (plane + SBN_BLOCK - 1) / SBN_BLOCK;
    const cl_float last_reciprocal = 1.0f / (float)(plane - (blocks - 1) * SBN_BLOCK);
    const sbn_forward_reduce_arguments of_forward = {.x = spaces[X].mem};
    const sbn_backward_reduce_arguments of_backward = {
        .x = spaces[X].mem,
        .dy = spaces[DY].mem,
        .coefficients = spaces[TABLE].mem,
    };
    const sbn_activation_arguments fused = {
        .weights = spaces[TABLE].mem,
        .biases = spaces[TABLE].mem,
        .mask = spaces[MASK].mem,
        .mask_row = plane,
        .mask_reciprocal = UINT64_MAX / plane,
        .mask_padding = (cl_uint)(4 * mask_row(t)) - plane,
    };
    const cl_uint units = r->masked ? 1 : SAMPLES * blocks;
    const sbn_slice_arguments of_both = {
        .channels = (cl_uint)t->channels,
        .plane = plane,
        .blocks = blocks,
        .per_slice = units,
        .last_reciprocal = last_reciprocal,
        .partial = to,
        .wide = wide_to,
    };
    const sbn_cpu_slice_arguments of_cpu = {.samples = SAMPLES, .strip = r->strip};
    const sbn_gpu_slice_arguments of_gpu = {
        .units = units,
        .log2_strip = r->log2_strip,
    };
    sbn_arguments arguments = {.count = 0};
    if (back)
        sbn__add_backward_reduce(&arguments, &of_backward);
    else
        sbn__add_forward_reduce(&arguments, &of_forward);
    if (r->masked)
        sbn__add_activation(&arguments, &fused);
    const sbn_combining none = sbn__combining_none(of_both.partial, SBN_TAIL_NONE);
    sbn__add_tail_of(&arguments, &none, !back, replica);
    sbn__add_slice(&arguments, &of_both);
    if (r->form == SBN_FORM_CPU)
        sbn__add_cpu_slice(&arguments, &of_cpu);
    else
        sbn__add_gpu_slice(&arguments, &of_gpu);
    const sbn_group_config config = {.program_cache = ""};
    const int part = r->form == SBN_FORM_GPU ? sbn__part_of_reductions(back, r->last, 0) : 0;
    const int fusion = r->masked ? sbn__fusion_of(SBN_RELU, 1, 0) : 0;
    must(sbn__replica_load(replica, SBN_F32, fusion, part, &config), "sbn__replica_load");
    sbn_kernels *kernels = replica->kernels[SBN_F32][sbn__variant_of(fusion, part)];
    sbn_kernel *kernel = back ? &kernels->backward_reduce[r->kernel]
                              : &kernels->forward_reduce[r->kernel];
    run_kernel(replica, kernel, &arguments, 2, (const size_t[]){r->masked ? r->strip : 1, 1});
}

/* A strip's accumulators. */
typedef struct strip_sums {
    int64_t narrow[MOST_WORDS], wide[MOST_WORDS];
} strip_sums;

static cl_mem partial, wide;

static void read_words(cl_mem from, int64_t *out)
{
    must(clEnqueueReadBuffer(queue, from, CL_TRUE, 0, sizeof(int64_t) * MOST_WORDS, out, 0, NULL,
                             NULL),
         "clEnqueueReadBuffer");
}

/* The accumulators of the strip in its tensor, or in a small one; 0 where that has no room. */
static int sum(const reduction *r, int is_small, int back, float scale, strip_sums *out)
{
    const tensor t = tensor_of(r, is_small);
    const size_t elements = t.samples * t.channels * t.plane;
    const size_t floats[SPACES] = {elements, elements, t.channels, r->masked ? elements / 16 : 1};
    const cl_uint zero = 0;
    int opened = 1;
    for (int i = 0; i < SPACES; ++i)
        opened = address_space_open(&spaces[i], device.context, floats[i]) && opened;
    if (opened) {
        fill(r, &t, scale);
        must(clEnqueueFillBuffer(queue, wide, &zero, sizeof zero, 0, sizeof out->wide, 0, NULL,
                                 NULL),
             "clEnqueueFillBuffer");
        launch(r, &t, back, partial, wide);
        read_words(partial, out->narrow);
        read_words(wide, out->wide);
    }
    for (int i = 0; i < SPACES; ++i)
        address_space_close(&spaces[i]);
    return opened;
}

/* `scale`: 1, or so large that no block fits the narrow format. */
static void check(const reduction *r, int back, float scale)
{
    static strip_sums near_sums, far_sums;
    const size_t length = sbn__accumulator_length(back ? &sbn_backward_narrow
                                                       : &sbn_forward_narrow);
    const int is_wide = scale > 1.0f;
    must(!sum(r, 1, back, scale, &near_sums), "a small tensor");
    if (!sum(r, 0, back, scale, &far_sums)) {
        tap_skip("%zu GB of address space cannot be reserved",
                 2 * sizeof(float) * SAMPLES * r->channels * r->plane >> 30);
        return;
    }
    /* Every channel has seen elements. */
    int all = 1;
    for (size_t c = 0; c < r->strip; ++c) {
        const int64_t *own = near_sums.narrow + c * length;
        int64_t some = 0;
        for (size_t k = 0; k + 1 < length; ++k)
            some |= is_wide ? near_sums.wide[c * sbn__wide_limbs() + k] : own[k];
        all = all && some != 0 && own[length - 1] == (is_wide ? SBN_FLAG_WIDE : 0);
    }
    tap_ok(all &&
               memcmp(near_sums.narrow, far_sums.narrow, sizeof(int64_t) * length * r->strip) ==
                   0 &&
               memcmp(near_sums.wide, far_sums.wide,
                      sizeof(int64_t) * sbn__wide_limbs() * r->strip) == 0,
           "%s, %s%s: %u channels of %u of %zu elements in each sample",
           sbn__reduction_name(r->kernel, back), is_wide ? "wide" : "narrow",
           r->masked ? ", masked" : "", r->strip, r->channels, (size_t)r->channels * r->plane);
}

void checks(void)
{
    partial = fixture_buffer(&device, sizeof(int64_t) * MOST_WORDS, NULL);
    wide = fixture_buffer(&device, sizeof(int64_t) * MOST_WORDS, NULL);
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        sbn_group *group = fixture_group(queue, 1, form);
        replica = &group->replicas[0];
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i)
            for (int back = reductions[i].masked; back < 2 && reductions[i].form == form; ++back) {
                check(&reductions[i], back, 1.0f);
                check(&reductions[i], back, 0x1p50f);
            }
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
    clReleaseMemObject(partial);
    clReleaseMemObject(wide);
}
