#include "device/kernel_constants.h"

#include <stdio.h>

#include "device/self_test_rules.h"

/*
 * CPU: a work-item is a work-group, and takes vectors of 16 floats, a cache line. A strip of 512
 * channels keeps the sums of all lanes in 96 kB, of a core's second cache; a tile of 2048 elements
 * keeps its five coefficients in 40 kB.
 */
static const sbn_kernel_sizes cpu = {
    .width = 16,
    .nchw_items = 1,
    .batch = 16,
    .sets = 4,
    .nhwc_items = 1,
    .nhwc_rows = 1,
    .nhwc_strip = 512,
    .tile_items = 1,
    .tile = 2048,
    .combine_items = 1,
    .combine_span = 64,
};

/* GPU: neighbouring work-items take neighbouring elements; 64 are one or two hardware vectors. */
static const sbn_kernel_sizes gpu = {
    .width = 1,
    .nchw_items = 64,
    .batch = 64,
    .sets = 1,
    .nhwc_items = 32,
    .nhwc_rows = 8,
    .nhwc_strip = 32,
    .tile_items = 64,
    .tile = 64,
    .combine_items = 64,
    .combine_span = 1,
};

const sbn_kernel_sizes *sbn__kernel_sizes(sbn_kernel_form form)
{
    return form == SBN_FORM_CPU ? &cpu : &gpu;
}

int sbn__kernel_macros(sbn_kernel_form form, char *out, size_t size)
{
    const sbn_kernel_sizes *s = sbn__kernel_sizes(form);
    return snprintf(out, size,
                    "-D CPU_FORM=%d -D WIDTH=%d -D NCHW_ITEMS=%d -D BATCH=%d -D SETS=%d "
                    "-D NHWC_ITEMS=%d -D NHWC_ROWS=%d -D NHWC_STRIP=%d -D TILE_ITEMS=%d "
                    "-D TILE=%d -D ROW_MEAN_HIGH=%d -D ROW_MEAN_LOW=%d -D ROW_INVSTD=%d "
                    "-D ROW_G_HIGH=%d -D ROW_G_LOW=%d -D ROW_K=%d -D ROW_WEIGHT_GRAD=%d "
                    "-D ROW_BIAS_GRAD=%d -D MOMENT_MEAN=%d -D MOMENT_VAR=%d "
                    "-D MOMENT_INVSTD=%d -D COMBINE_ITEMS=%d -D COMBINE_SPAN=%d -D CASES=%d ",
                    form == SBN_FORM_CPU, s->width, s->nchw_items, s->batch, s->sets, s->nhwc_items,
                    s->nhwc_rows, s->nhwc_strip, s->tile_items, s->tile, SBN_ROW_MEAN_HIGH,
                    SBN_ROW_MEAN_LOW, SBN_ROW_INVSTD, SBN_ROW_G_HIGH, SBN_ROW_G_LOW, SBN_ROW_K,
                    SBN_ROW_WEIGHT_GRAD, SBN_ROW_BIAS_GRAD, SBN_MOMENT_MEAN, SBN_MOMENT_VAR,
                    SBN_MOMENT_INVSTD, s->combine_items, s->combine_span, SBN_SELF_TEST_CASES);
}
