/*
 * Elements and channels beyond 2^32 in the kernels of both forms, without the 16 GB that a tensor of them takes: the
 * kernels themselves on what lies far apart in reserved addresses, a few tiles or planes, and for the reductions one
 * strip of the channels of a few samples. The accumulators must be those of a tensor of these channels alone. Where
 * planes have rows of their own in a mask, of four channels' first blocks: as of small planes.
 */
#include <stdio.h>
#include <string.h>

#include "base/activation.h"
#include "check/mix.h"
#include "exact/accumulator.h"
#include "launch/combining.h"
#include "program/kernel_constants.h"
#include "support/address_space.h"
#include "support/main.h"
#include "support/wraps.h"

static sbn_replica *replica;

/* Two tensors, a result; two tables, of which apply kernels read three rows; four signs in a byte; accumulators. */
enum { X, DY, OUT, COEFFICIENTS, GRADIENTS, MASK, NARROW, WIDE, SPACES };

static address_space fields[SPACES];

static void close_fields(void)
{
    for (int i = 0; i < SPACES; ++i)
        address_space_close(&fields[i]);
}

static int open_fields(const size_t floats[SPACES])
{
    int opened = 1;
    size_t bytes = 0;
    for (int i = 0; i < SPACES; ++i) {
        opened = address_space_open(&fields[i], device.context, floats[i]) && opened;
        bytes += fields[i].bytes;
    }
    if (opened)
        return 1;
    tap_skip("%zu GB of address space cannot be reserved", bytes >> 30);
    close_fields();
    return 0;
}

/* --- apply kernels --- */

enum { TILE = 2048 };

/* Means 0, and an inverse deviation that differs from channel to channel; no mean gradients. */
static float invstd(size_t channel)
{
    return (float)(1 + channel % 7);
}

/* A kernel and its walk; of each sample, `length` elements from `first` on are written and looked at. */
typedef struct application {
    sbn_kernel_form form;
    const char *what;
    int which;
    cl_uint channels, plane, extent, share;
    size_t samples, first, length;
} application;

/*
 * Of three rows the last begins behind 2^32 elements in the CPU form; rows of the GPU form have less than 2^31. The
 * table's third row begins at 2^32 - 2. Of planes, those of the last channel, which begin at 2^32.
 */
static const application applications[] = {
    {SBN_FORM_CPU, "rows", SBN_WALK_ROWS, 1u << 29, 9, 3, 3, 3, 0, TILE},
    {SBN_FORM_CPU, "tables", SBN_WALK_FLAT, 0x7fffffffu, 64, 256, 256, 1, 0, 256},
    {SBN_FORM_CPU, "samples", SBN_WALK_FLAT, (1u << 26) + 1, 64, 256, 256, 3, 0, 256},
    {SBN_FORM_GPU, "rows", SBN_WALK_ROWS, 0x7fffffffu / 9, 9, 3, 3, 3, 0, SBN_GPU_TILE},
    {SBN_FORM_GPU, "planes", SBN_WALK_PLANES, (1u << 26) + 1, 64, 0, SBN_GPU_TILE, 3,
     (size_t)1 << 32, 64},
};

/* The kernel of a walk, without weights. */
static void apply(const application *a, int back)
{
    const cl_mem table = fields[COEFFICIENTS].mem;
    const size_t groups[] = {1, a->which == SBN_WALK_FLAT ? a->samples : 1, a->samples};
    ARGUMENTS(walk, walk, .channels = a->channels, .plane = a->plane, .extent = a->extent,
              .share = a->share);
    ARGUMENTS(forward_tensor, of_forward, .x = fields[X].mem, .y = fields[OUT].mem,
              .weights = table, .biases = table);
    ARGUMENTS(forward_apply, forward_tables, .coefficients = table);
    ARGUMENTS(backward_tensor, of_backward, .x = fields[X].mem, .dy = fields[DY].mem,
              .dx = fields[OUT].mem, .weights = table, .coefficients = table);
    ARGUMENTS(backward_apply, backward_tables, .gradients = fields[GRADIENTS].mem);
    sbn_arguments arguments = {.count = 0};
    if (back) {
        sbn__add_backward_tensor(&arguments, &of_backward);
        sbn__add_backward_apply(&arguments, &backward_tables);
    } else {
        sbn__add_forward_tensor(&arguments, &of_forward);
        sbn__add_forward_apply(&arguments, &forward_tables);
    }
    sbn__add_walk(&arguments, &walk);
    run_kernel(replica, &replica->kernels[SBN_F32][0]->of[a->which][back], &arguments,
               a->which == SBN_WALK_PLANES ? 3 : 2, groups);
}

/* x and dy are 1, 2, ... and 3, 4, ..., so that y = x invstd and dx = invstd dy - invstd invstd x are whole numbers. */
static void check_apply(const application *a, int back)
{
    const size_t channels = a->channels, plane = a->plane, rows = 3 * channels;
    const size_t sample = channels * plane, end = a->first + a->length;
    const size_t elements = (a->samples - 1) * sample + end;
    int wrong = 0;
    if (!open_fields((const size_t[SPACES]){elements, elements, elements, rows, rows}))
        return;
    float *const coefficients = fields[COEFFICIENTS].at + SBN_ROW_INVSTD * channels,
                 *const gradients = fields[GRADIENTS].at + SBN_ROW_K * channels;
    for (size_t c = a->first / plane; c * plane < end; ++c)
        coefficients[c] = gradients[c] = invstd(c);
    for (size_t n = 0; n < a->samples; ++n)
        for (size_t i = a->first; i < end; ++i) {
            fields[X].at[n * sample + i] = (float)(i - a->first + 1);
            fields[DY].at[n * sample + i] = (float)(i - a->first + 3);
        }
    apply(a, back);
    for (size_t n = 0; n < a->samples; ++n)
        for (size_t i = a->first; i < end; ++i) {
            const float s = invstd(i / plane), x = fields[X].at[n * sample + i],
                        dy = fields[DY].at[n * sample + i];
            wrong += fields[OUT].at[n * sample + i] != (back ? s * dy - s * s * x : s * x);
        }
    tap_ok(!wrong, "%s, %s form, %s: %zu elements, %zu channels", back ? "backward" : "forward",
           replica->form == SBN_FORM_GPU ? "GPU" : "CPU", a->what, elements, channels);
    close_fields();
}

/* GPU form: the first words of two work-groups, of which the second slice's first word stays what it is. */
static void check_add_slices(cl_ulong total, cl_uint slices)
{
    enum { MOST = 2 * SBN_GPU_SLICE_WORDS, PER_CHANNEL = 9 };
    const cl_uint count = total < MOST ? (cl_uint)total : MOST;
    if (!open_fields((const size_t[SPACES]){2 * slices * total}))
        return;
    cl_long *const words = (cl_long *)fields[X].at;
    for (cl_uint at = 0; at < slices * count; ++at)
        words[at / count * total + at % count] = 1 + at % count;
    ARGUMENTS(add_slices, own, .partial = fields[X].mem, .slices = slices,
              .per_channel = PER_CHANNEL, .total = total);
    sbn_arguments arguments = {.count = 0};
    sbn__add_add_slices(&arguments, &own);
    run_kernel(replica, &replica->kernels[SBN_F32][0]->of[SBN_ADD_SLICES][0], &arguments, 1,
               (const size_t[]){2});
    int all_right = words[total] == 1;
    for (cl_uint i = 0; i < count; ++i) {
        const int is_flags = i % PER_CHANNEL == PER_CHANNEL - 1;
        all_right = all_right && words[i] == (is_flags ? 1 : slices) * (1 + i);
    }
    tap_ok(all_right, "GPU form: %u slices of %llu words are added", slices,
           (unsigned long long)total);
    close_fields();
}

/* CPU form: the last tile of a row, of the planes of 1001 channels behind 2^28, by a kernel that begins there. */
static void check_tile(void)
{
    enum { PLANE = 17, MORE = 1001, BEFORE = 8, LENGTH = MORE * PLANE - BEFORE * TILE };
    const cl_uint ahead = 1u << 28;
    const size_t first = (size_t)ahead * PLANE + BEFORE * TILE;
    const application tile =
        {SBN_FORM_CPU, "the last tile", SBN_WALK_ROWS, ahead + MORE, PLANE, 1, 1, 1, first, LENGTH};
    char instead[80];
    snprintf(instead, sizeof instead, "((ulong)get_group_id(0) + %zu) * TILE", first / TILE);
    wraps_replace("(ulong)get_group_id(0) * TILE", instead);
    sbn_group *group = fixture_group(queue, 1, tile.form);
    tap_ok(wraps_replaced > 0, "%d places replaced", wraps_replaced);
    wraps_replace(NULL, NULL);
    replica = &group->replicas[0];
    for (int back = 0; back < 2; ++back)
        check_apply(&tile, back);
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

/* --- reductions --- */

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

static size_t mask_row(const tensor *t)
{
    return (t->plane + 3) / 4;
}

static void fill_strip(const reduction *r, const tensor *t, float scale)
{
    uint64_t number = 0;
    for (size_t n = 0; n < t->samples; ++n)
        for (size_t c = 0; c < r->strip; ++c)
            for (size_t i = 0; i < t->filled; ++i) {
                const size_t at = r->last ? (n * t->plane + i) * t->channels + c
                                          : (n * t->channels + c) * t->plane + i;
                for (int k = X; k <= DY; ++k)
                    fields[k].at[at] = scale * ((float)(mix(1, ++number) >> 40) * 0x1p-23f - 0.75f);
            }
    for (size_t c = 0; c < r->strip; ++c)
        fields[COEFFICIENTS].at[c] = (float)c / 64;
    unsigned char *const signs = (unsigned char *)fields[MASK].at;
    for (size_t c = 0; c < r->strip && r->masked; ++c)
        for (size_t i = 0; i < t->filled / 4; ++i)
            signs[c * mask_row(t) + i] = (unsigned char)(mix(c, i) >> 60);
}

static void launch(const reduction *r, const tensor *t, int back)
{
    const cl_uint plane = (cl_uint)t->plane, blocks = (plane + SBN_BLOCK - 1) / SBN_BLOCK;
    const cl_float last_reciprocal = 1.0f / (float)(plane - (blocks - 1) * SBN_BLOCK);
    ARGUMENTS(forward_reduce, of_forward, .x = fields[X].mem);
    ARGUMENTS(backward_reduce, of_backward, .x = fields[X].mem, .dy = fields[DY].mem,
              .coefficients = fields[COEFFICIENTS].mem);
    ARGUMENTS(activation, fused, .weights = fields[COEFFICIENTS].mem,
              .biases = fields[COEFFICIENTS].mem, .mask = fields[MASK].mem, .mask_row = plane,
              .mask_reciprocal = UINT64_MAX / plane,
              .mask_padding = (cl_uint)(4 * mask_row(t)) - plane);
    const cl_uint units = r->masked ? 1 : SAMPLES * blocks;
    ARGUMENTS(slice, of_both, .channels = (cl_uint)t->channels, .plane = plane, .blocks = blocks,
              .per_slice = units, .last_reciprocal = last_reciprocal, .partial = fields[NARROW].mem,
              .wide = fields[WIDE].mem);
    ARGUMENTS(cpu_slice, of_cpu, .samples = SAMPLES, .strip = r->strip);
    ARGUMENTS(gpu_slice, of_gpu, .units = units, .log2_strip = r->log2_strip);
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
    sbn_kernel *kernel = &kernels->of[r->kernel][back];
    run_kernel(replica, kernel, &arguments, 2, (const size_t[]){r->masked ? r->strip : 1, 1});
}

/* A strip's accumulators. */
typedef struct strip_sums {
    int64_t narrow[MOST_WORDS], wide[MOST_WORDS];
} strip_sums;

/* The accumulators of the strip in its tensor, or in a small one; 0 where that has no room. */
static int sum(const reduction *r, int is_small, int back, float scale, strip_sums *out)
{
    const tensor t = tensor_of(r, is_small);
    const size_t elements = t.samples * t.channels * t.plane;
    const size_t mask = r->masked ? elements / 16 : 0, sums = 2 * MOST_WORDS;
    const size_t floats[SPACES] = {elements, elements, 0, t.channels, 0, mask, sums, sums};
    if (!open_fields(floats))
        return 0;
    fill_strip(r, &t, scale);
    launch(r, &t, back);
    memcpy(out->narrow, fields[NARROW].at, sizeof out->narrow);
    memcpy(out->wide, fields[WIDE].at, sizeof out->wide);
    close_fields();
    return 1;
}

/* `scale`: 1, or so large that no block fits the narrow format. */
static void check_sums(const reduction *r, int back, float scale)
{
    static strip_sums near_sums, far_sums;
    const sbn_format *format = back ? &sbn_backward_narrow : &sbn_forward_narrow;
    const size_t length = sbn__accumulator_length(format);
    const int is_wide = scale > 1.0f;
    must(!sum(r, 1, back, scale, &near_sums), "a small tensor");
    if (!sum(r, 0, back, scale, &far_sums))
        return;
    /* Every channel has seen elements; on GPUs, all limbs but a sum's highest are carried from one to the next. */
    int all = 1;
    for (size_t c = 0; c < r->strip; ++c) {
        const int64_t *own = near_sums.narrow + c * length;
        int64_t some = 0;
        for (size_t k = 0; k + 1 < length; ++k) {
            some |= is_wide ? near_sums.wide[c * sbn__wide_limbs() + k] : own[k];
            const int is_highest = k + 1 == (size_t)format->limbs1 || k + 2 == length;
            all = all &&
                  (r->form == SBN_FORM_CPU || is_highest || own[k] >> (SBN_LIMB_BITS + 1) == 0);
        }
        all = all && some != 0 && own[length - 1] == (is_wide ? SBN_FLAG_WIDE : 0);
    }
    const size_t words = sizeof(int64_t) * r->strip;
    tap_ok(all && memcmp(near_sums.narrow, far_sums.narrow, words * length) == 0 &&
               memcmp(near_sums.wide, far_sums.wide, words * sbn__wide_limbs()) == 0,
           "%s, %s%s: %u channels of %u of %zu elements in each sample",
           sbn__kernel_name(r->kernel, back), is_wide ? "wide" : "narrow",
           r->masked ? ", masked" : "", r->strip, r->channels, (size_t)r->channels * r->plane);
}

void checks(void)
{
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        sbn_group *group = fixture_group(queue, 1, form);
        replica = &group->replicas[0];
        for (size_t i = 0; i < sizeof applications / sizeof *applications; ++i)
            for (int back = 0; back < 2 && applications[i].form == form; ++back)
                check_apply(&applications[i], back);
        if (form == SBN_FORM_GPU) {
            check_add_slices(((cl_ulong)1 << 32) + 5, 2);
            check_add_slices(27, 130);
        }
        for (size_t i = 0; i < sizeof reductions / sizeof *reductions; ++i)
            for (int back = reductions[i].masked; back < 2 && reductions[i].form == form; ++back) {
                check_sums(&reductions[i], back, 1.0f);
                check_sums(&reductions[i], back, 0x1p50f);
            }
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
    check_tile();
}
