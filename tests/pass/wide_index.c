/*
 * Elements and channels beyond 2^32 in the apply kernels of both forms, without the 16 GB that a
 * tensor of them takes: the kernels themselves on a few tiles or planes, far apart in reserved
 * addresses. wide_index_sums.c does the same for the reductions.
 */
#include <stdio.h>

#include "program/kernel_constants.h"
#include "group/group.h"
#include "launch/apply.h"

#include "support/address_space.h"
#include "support/main.h"
#include "support/wraps.h"

enum { TILE = 2048 };

static sbn_replica *replica;

/* Two tensors and a result, and two tables, three rows of which the kernels read. */
enum { X, DY, OUT, COEFFICIENTS, GRADIENTS, FIELDS };

static address_space fields[FIELDS];

static int open_fields(size_t elements, size_t channels)
{
    int opened = 1;
    for (int i = 0; i < FIELDS; ++i)
        opened = address_space_open(&fields[i], device.context,
                                    i < COEFFICIENTS ? elements : 3 * channels) &&
                 opened;
    return opened;
}

static void close_fields(void)
{
    for (int i = 0; i < FIELDS; ++i)
        address_space_close(&fields[i]);
}

/* x and dy from an element on are 1, 2, ... and 3, 4, ... */
static void fill(size_t from, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        fields[X].at[from + i] = (float)(i + 1);
        fields[DY].at[from + i] = (float)(i + 3);
    }
}

/* Means 0, and an inverse deviation that differs from channel to channel; no mean gradients. */
static float invstd(size_t channel)
{
    return (float)(1 + channel % 7);
}

static void set_tables(size_t first, size_t channels, size_t total)
{
    for (size_t c = 0; c < channels; ++c)
        fields[COEFFICIENTS].at[SBN_ROW_INVSTD * total + first + c] =
            fields[GRADIENTS].at[SBN_ROW_K * total + first + c] = invstd(c);
}

/* y = x invstd, dx = invstd dy - invstd invstd x: whole numbers. The first element is the `within`-th of its plane. */
static int right(size_t from, size_t count, size_t within, size_t plane, int back)
{
    for (size_t i = 0; i < count; ++i) {
        const float s = invstd((within + i) / plane), x = fields[X].at[from + i],
                    dy = fields[DY].at[from + i];
        if (fields[OUT].at[from + i] != (back ? s * dy - s * s * x : s * x))
            return 0;
    }
    return 1;
}

/* The kernel of a walk, without weights. */
static void apply(int which, const sbn_walk_arguments *walk, cl_uint dimensions,
                  const size_t *groups, int back)
{
    const cl_mem table = fields[COEFFICIENTS].mem;
    const sbn_forward_tensor_arguments of_forward = {
        .x = fields[X].mem,
        .y = fields[OUT].mem,
        .weights = table,
        .biases = table,
    };
    const sbn_forward_apply_arguments forward_tables = {.coefficients = table};
    const sbn_backward_tensor_arguments of_backward = {
        .x = fields[X].mem,
        .dy = fields[DY].mem,
        .dx = fields[OUT].mem,
        .weights = table,
        .coefficients = table,
    };
    const sbn_backward_apply_arguments backward_tables = {.gradients = fields[GRADIENTS].mem};
    sbn_arguments arguments = {.count = 0};
    if (back) {
        sbn__add_backward_tensor(&arguments, &of_backward);
        sbn__add_backward_apply(&arguments, &backward_tables);
    } else {
        sbn__add_forward_tensor(&arguments, &of_forward);
        sbn__add_forward_apply(&arguments, &forward_tables);
    }
    sbn__add_walk(&arguments, walk);
    sbn_kernels *kernels = replica->kernels[SBN_F32][0];
    run_kernel(replica, back ? &kernels->backward_apply[which] : &kernels->forward_apply[which],
               &arguments, dimensions, groups);
}

/* What is written and looked at: `length` elements of each part, which begin so far apart. */
typedef struct parts {
    size_t count, apart, first, length;
    size_t channel, channels; /* whose, and so many from it on */
} parts;

static void check(const char *what, int back, int which, const sbn_walk_arguments *walk,
                  size_t elements, parts of)
{
    const size_t groups[] = {1, 1, of.count};
    const cl_uint dimensions = which == SBN_WALK_PLANES ? 3 : 2;
    int all_right = 1;
    if (open_fields(elements, walk->channels)) {
        set_tables(of.channel, of.channels, walk->channels);
        for (size_t n = 0; n < of.count; ++n)
            fill(n * of.apart + of.first, of.length);
        apply(which, walk, dimensions, groups, back);
        for (size_t n = 0; n < of.count; ++n)
            all_right = right(n * of.apart + of.first, of.length, of.first % walk->plane,
                              walk->plane, back) &&
                        all_right;
        tap_ok(all_right, "%s, %s form, %s: %zu elements, %u channels",
               back ? "backward" : "forward", replica->form == SBN_FORM_GPU ? "GPU" : "CPU", what,
               elements, (unsigned)walk->channels);
    } else {
        tap_skip("%zu GB of address space cannot be reserved",
                 (12 * elements + 24 * (size_t)walk->channels) >> 30);
    }
    close_fields();
}

/*
 * Three rows of planes of 9, of which the last begins behind 2^32 elements: of 2^29 channels in the
 * CPU form; rows of the GPU form have less than 2^31 elements.
 */
static void check_rows(int back)
{
    enum { ROWS = 3, PLANE = 9 };
    const int gpu = replica->form == SBN_FORM_GPU;
    const cl_uint channels = gpu ? 0x7fffffffu / PLANE : 1u << 29;
    const size_t width = (size_t)channels * PLANE, tile = gpu ? SBN_GPU_TILE : TILE;
    const sbn_walk_arguments walk = {
        .channels = channels,
        .plane = PLANE,
        .extent = ROWS,
        .share = ROWS,
    };
    check("rows", back, SBN_WALK_ROWS, &walk, ROWS * width,
          (parts){ROWS, width, 0, tile, 0, tile / PLANE + 1});
}

/* GPU form: the last of 2^26 + 1 channels, in planes of 64, of the last of three samples. */
static void check_planes(int back)
{
    enum { PLANE = 64, SAMPLES = 3 };
    const cl_uint channels = (1u << 26) + 1;
    const size_t sample = (size_t)channels * PLANE;
    const sbn_walk_arguments walk = {.channels = channels, .plane = PLANE, .share = SBN_GPU_TILE};
    check("planes", back, SBN_WALK_PLANES, &walk, SAMPLES * sample,
          (parts){SAMPLES, sample, sample - PLANE, PLANE, channels - 1, 1});
}

/* Four channels of 2^31 - 1: the table's third row begins at 2^32 - 2. */
static void check_tables(int back)
{
    enum { CHANNELS = 4, PLANE = 64, COUNT = CHANNELS * PLANE };
    const sbn_walk_arguments walk = {
        .channels = 0x7fffffffu,
        .plane = PLANE,
        .extent = COUNT,
        .share = COUNT,
    };
    check("tables", back, SBN_WALK_FLAT, &walk, COUNT, (parts){1, 0, 0, COUNT, 0, CHANNELS});
}

/* GPU form: two slices of more than 2^32 words. */
static void check_add_slices(void)
{
    enum { WORDS = SBN_GPU_SLICE_WORDS, SLICES = 2 };
    const cl_ulong total = ((cl_ulong)1 << 32) + 5;
    address_space partial;
    if (!address_space_open(&partial, device.context, 2 * SLICES * total)) {
        tap_skip("%llu GB of address space cannot be reserved",
                 (unsigned long long)(8 * SLICES * total >> 30));
        return;
    }
    cl_long *const words = (cl_long *)partial.at;
    for (int i = 0; i < WORDS; ++i) {
        words[i] = 1 + i;
        words[total + (cl_ulong)i] = 100 * (1 + i);
    }
    const sbn_add_slices_arguments own = {
        .partial = partial.mem,
        .slices = SLICES,
        .per_channel = WORDS,
        .total = total,
    };
    sbn_arguments arguments = {.count = 0};
    sbn__add_add_slices(&arguments, &own);
    run_kernel(replica, &replica->kernels[SBN_F32][0]->add_slices, &arguments, 1,
               (const size_t[]){1});
    int all_right = 1;
    for (int i = 0; i < WORDS; ++i) {
        const cl_long flags = i == WORDS - 1;
        all_right = all_right && words[i] == (flags ? (1 + i) | 100 * (1 + i) : 101 * (1 + i));
    }
    tap_ok(all_right, "GPU form: slices of %llu words are added", (unsigned long long)total);
    address_space_close(&partial);
}

/*
 * CPU form: the last tile of a row, of the planes of 1001 channels behind 2^28, by a kernel that begins
 * there.
 */
static void check_tile(void)
{
    enum { PLANE = 17, BEFORE = 8, LENGTH = 1001 * PLANE - BEFORE * TILE };
    const size_t ahead = ((size_t)1 << 28) * PLANE, first = ahead + BEFORE * TILE;
    const sbn_walk_arguments walk = {
        .channels = (1u << 28) + 1001,
        .plane = PLANE,
        .extent = 1,
        .share = 1,
    };
    char instead[80];
    snprintf(instead, sizeof instead, "((ulong)get_group_id(0) + %zu) * TILE", first / TILE);
    wraps_replace("(ulong)get_group_id(0) * TILE", instead);
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    tap_ok(wraps_replaced() > 0, "%d places replaced", wraps_replaced());
    wraps_replace(NULL, NULL);
    replica = &group->replicas[0];
    for (int back = 0; back < 2; ++back)
        check("the last tile", back, SBN_WALK_ROWS, &walk, first + LENGTH,
              (parts){1, 0, first, LENGTH, first / PLANE, LENGTH / PLANE + 1});
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

void checks(void)
{
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        sbn_group *group = fixture_group(queue, 1, form);
        replica = &group->replicas[0];
        for (int back = 0; back < 2; ++back) {
            check_rows(back);
            if (form == SBN_FORM_CPU)
                check_tables(back);
            else
                check_planes(back);
        }
        if (form == SBN_FORM_GPU)
            check_add_slices();
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
    check_tile();
}
