#include "program/kernel_constants.h"

#include <stdio.h>

#include "program/opencl.h"

/* A mask has as many bits in a word as a work-item stores elements at once. */
static const sbn_form_sizes forms[] = {
    [SBN_FORM_CPU] =
        {
            .combine_items = 1,
            .combine_span = 64,
            .mask_bits = SBN_CPU_WIDTH,
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

const sbn_form_sizes *sbn__form_sizes(sbn_kernel_form form)
{
    return &forms[form];
}

void sbn__kernel_macros(sbn_kernel_form form, char *out, size_t size)
{
    char own[256];
    if (form == SBN_FORM_CPU)
        snprintf(own, sizeof own,
                 "-D CPU_FORM=1 -D WIDTH=%d -D BATCH=%d -D SETS=%d -D NHWC_STRIP=%d -D TILE=%d ",
                 SBN_CPU_WIDTH, SBN_CPU_BATCH, SBN_CPU_SETS, SBN_CPU_STRIP, SBN_CPU_TILE);
    else
        snprintf(own, sizeof own,
                 "-D CPU_FORM=0 -D WIDTH=1 -D LOG2_ITEMS=%d -D ITEMS=%d -D MOST_LOADS=%d "
                 "-D LOG2_PARTS=%d -D PARTS=%d -D SMALL_PLANE=%d -D LOG2_SLICE_WORDS=%d "
                 "-D APPLY_ITEMS=%d -D TILE=%d ",
                 SBN_GPU_LOG2_ITEMS, SBN_GPU_ITEMS, SBN_GPU_LOADS, SBN_GPU_LOG2_PARTS,
                 SBN_GPU_PARTS, SBN_GPU_SMALL_PLANE, SBN_GPU_LOG2_SLICE_WORDS, SBN_GPU_APPLY_ITEMS,
                 SBN_GPU_TILE);
    snprintf(out, size,
             "%s-D ROW_MEAN_HIGH=%d -D ROW_MEAN_LOW=%d -D ROW_INVSTD=%d "
             "-D ROW_G_HIGH=%d -D ROW_G_LOW=%d -D ROW_K=%d -D ROW_WEIGHT_GRAD=%d "
             "-D ROW_BIAS_GRAD=%d -D MOMENT_MEAN=%d -D MOMENT_VAR=%d "
             "-D MOMENT_INVSTD=%d -D COMBINE_ITEMS=%d -D COMBINE_SPAN=%d -D MASK_BITS=%d "
             "-D ELEMENTWISE_ITEMS=%d -D CASES=%d ",
             own, SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW, SBN_ROW_INVSTD, SBN_ROW_G_HIGH,
             SBN_ROW_G_LOW, SBN_ROW_K, SBN_ROW_WEIGHT_GRAD, SBN_ROW_BIAS_GRAD, SBN_MOMENT_MEAN,
             SBN_MOMENT_VAR, SBN_MOMENT_INVSTD, forms[form].combine_items, forms[form].combine_span,
             forms[form].mask_bits, SBN_ELEMENTWISE_ITEMS, SBN_SELF_TEST_CASES);
}
