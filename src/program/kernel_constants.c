#include "program/kernel_constants.h"

#include <stdio.h>

#include "program/opencl.h"
#include "program/self_test_rules.h"

/*
 * CPU: a work-item is a work-group, and takes vectors of 16 floats, a cache line. A strip of 512
 * channels keeps the sums of all lanes in 96 kB, of a core's second cache; a tile of 2048 elements
 * keeps its five coefficients in 40 kB.
 */
enum { WIDTH = 16 };

static const sbn_kernel_sizes cpu = {
    .width = WIDTH,
    .nchw_items = 1,
    .batch = 16,
    .sets = 4,
    .nhwc_items = 1,
    .nhwc_rows = 1,
    .nhwc_strip = 512,
    .tile_items = 1,
    .tile = 2048,
};

/* A mask has as many bits in a word as a work-item stores elements at once. */
static const sbn_form_sizes forms[] = {
    [SBN_FORM_CPU] =
        {
            .combine_items = 1,
            .combine_span = 64,
            .mask_bits = WIDTH,
            .mask_word = sizeof(cl_ushort),
            .slice_words = SBN_ELEMENTWISE_ITEMS,
            .self_test_items = 1,
        },
    [SBN_FORM_GPU] =
        {
            .combine_items = SBN_GPU_COMBINE_ITEMS,
            .combine_span = 1,
            .mask_bits = SBN_GPU_TILE / SBN_GPU_APPLY_ITEMS,
            .mask_word = sizeof(cl_uchar),
            .slice_words = SBN_GPU_SLICE_WORDS,
            .self_test_items = SBN_SELF_TEST_CASES,
        },
};

const sbn_kernel_sizes *sbn__kernel_sizes(void)
{
    return &cpu;
}

const sbn_form_sizes *sbn__form_sizes(sbn_kernel_form form)
{
    return &forms[form];
}

int sbn__mask_bits(sbn_kernel_form form)
{
    return forms[form].mask_bits;
}

int sbn__mask_word(sbn_kernel_form form)
{
    return forms[form].mask_word;
}

static int cpu_macros(char *out, size_t size)
{
    return snprintf(out, size,
                    "-D CPU_FORM=1 -D WIDTH=%d -D NCHW_ITEMS=%d -D BATCH=%d -D SETS=%d "
                    "-D NHWC_ITEMS=%d -D NHWC_ROWS=%d -D NHWC_STRIP=%d -D TILE_ITEMS=%d "
                    "-D TILE=%d ",
                    cpu.width, cpu.nchw_items, cpu.batch, cpu.sets, cpu.nhwc_items, cpu.nhwc_rows,
                    cpu.nhwc_strip, cpu.tile_items, cpu.tile);
}

static int gpu_macros(char *out, size_t size)
{
    return snprintf(out, size,
                    "-D CPU_FORM=0 -D WIDTH=1 -D LOG2_ITEMS=%d -D ITEMS=%d -D MOST_LOADS=%d "
                    "-D LOG2_PARTS=%d -D PARTS=%d -D SMALL_PLANE=%d -D LOG2_SLICE_WORDS=%d "
                    "-D APPLY_ITEMS=%d -D TILE=%d ",
                    SBN_GPU_LOG2_ITEMS, SBN_GPU_ITEMS, SBN_GPU_LOADS, SBN_GPU_LOG2_PARTS,
                    SBN_GPU_PARTS, SBN_GPU_SMALL_PLANE, SBN_GPU_LOG2_SLICE_WORDS,
                    SBN_GPU_APPLY_ITEMS, SBN_GPU_TILE);
}

int sbn__kernel_macros(sbn_kernel_form form, char *out, size_t size)
{
    static int (*const macros[])(char *out, size_t size) =
        {[SBN_FORM_CPU] = cpu_macros, [SBN_FORM_GPU] = gpu_macros};
    char own[256];
    macros[form](own, sizeof own);
    return snprintf(out, size,
                    "%s-D ROW_MEAN_HIGH=%d -D ROW_MEAN_LOW=%d -D ROW_INVSTD=%d "
                    "-D ROW_G_HIGH=%d -D ROW_G_LOW=%d -D ROW_K=%d -D ROW_WEIGHT_GRAD=%d "
                    "-D ROW_BIAS_GRAD=%d -D MOMENT_MEAN=%d -D MOMENT_VAR=%d "
                    "-D MOMENT_INVSTD=%d -D COMBINE_ITEMS=%d -D COMBINE_SPAN=%d -D MASK_BITS=%d "
                    "-D ELEMENTWISE_ITEMS=%d -D CASES=%d ",
                    own, SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW, SBN_ROW_INVSTD, SBN_ROW_G_HIGH,
                    SBN_ROW_G_LOW, SBN_ROW_K, SBN_ROW_WEIGHT_GRAD, SBN_ROW_BIAS_GRAD,
                    SBN_MOMENT_MEAN, SBN_MOMENT_VAR, SBN_MOMENT_INVSTD, forms[form].combine_items,
                    forms[form].combine_span, forms[form].mask_bits, SBN_ELEMENTWISE_ITEMS,
                    SBN_SELF_TEST_CASES);
}
