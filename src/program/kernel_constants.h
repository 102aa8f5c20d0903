/*
 * Numbers that the kernels are compiled with and the host must know: the library passes them to the
 * compiler by -D, and cl/ defines none of them. src/exact/format.h has those of the summation.
 */
#pragma once

#include <syncbn/group.h>

/* Rows of a table of coefficients, one float per channel each; src/layer/moments.h. */
enum { SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW, SBN_ROW_INVSTD, SBN_COEFFICIENT_ROWS };

/*
 * Rows of a backward pass's table: what dx needs, as cl/cpu/walk_backward.cl defines it, then the
 * gradients of weight and bias.
 */
enum {
    SBN_ROW_G_HIGH,
    SBN_ROW_G_LOW,
    SBN_ROW_K,
    SBN_ROW_WEIGHT_GRAD,
    SBN_ROW_BIAS_GRAD,
    SBN_GRADIENT_ROWS
};

/* Rows of the doubles behind a table of coefficients, where devices combine. */
enum { SBN_MOMENT_MEAN, SBN_MOMENT_VAR, SBN_MOMENT_INVSTD, SBN_MOMENT_ROWS };

/*
 * Sizes of the GPU form's kernels. 256 work-items are what every GPU's OpenCL allows; with 16 lanes a
 * block they have 16 blocks at once. 16 loads of a work-item, 128 bytes of a warp each, are 2 KB in
 * flight: 13 warps have what an H200 needs. A block's sums go into integers in 4 parts.
 */
enum {
    SBN_GPU_LOG2_ITEMS = 8, /* work-items of a work-group of a reduction */
    SBN_GPU_ITEMS = 1 << SBN_GPU_LOG2_ITEMS,
    SBN_GPU_LOADS = 16,     /* of each tensor, that a work-item has under way */
    SBN_GPU_LOG2_PARTS = 2, /* work-items that add a block */
    SBN_GPU_PARTS = 1 << SBN_GPU_LOG2_PARTS,
    SBN_GPU_SMALL_PLANE = 64,     /* up to this a work-item takes a lane of several planes */
    SBN_GPU_LOG2_SLICE_WORDS = 4, /* int64s of a work-group that adds slices */
    SBN_GPU_SLICE_WORDS = 1 << SBN_GPU_LOG2_SLICE_WORDS,
    SBN_GPU_COMBINE_ITEMS = 64, /* which take a channel each */
    SBN_GPU_APPLY_ITEMS = 256,
    SBN_GPU_TILE = 4 * SBN_GPU_APPLY_ITEMS /* elements of a row of a work-group: vectors of 4 */
};

/*
 * Work-items of a work-group of the kernels whose work-items share nothing: store_gradients and, in
 * the CPU form, add_slices. The size is fixed because PoCL compiles a kernel anew for every other.
 */
enum { SBN_ELEMENTWISE_ITEMS = 64 };

/*
 * Sizes of the CPU form's kernels. A work-item is a work-group, and takes vectors of 16 floats, a cache
 * line. A strip of 512 channels keeps the sums of all lanes in 96 kB, of a core's second cache; a tile of
 * 2048 elements keeps its five coefficients in 40 kB.
 */
enum {
    SBN_CPU_WIDTH = 16,  /* elements that a work-item handles at once */
    SBN_CPU_BATCH = 16,  /* blocks whose sums it converts to integers at once */
    SBN_CPU_SETS = 4,    /* batches that keep integers of their own, for strips of channels */
    SBN_CPU_STRIP = 512, /* channels of a work-group, where they are last */
    SBN_CPU_TILE = 2048  /* elements of a row whose coefficients a work-group keeps */
};

/* Cases of each rule that a self-test has. */
enum { SBN_SELF_TEST_CASES = 16 };

/* The two forms differ in this for those who launch their kernels. */
typedef struct sbn_form_sizes {
    int combine_items; /* work-items of a work-group that combines */
    int combine_span;  /* channels of each of them */
    int mask_bits;     /* elements that a word of a mask has bits for (cl/common/fusion.cl) */
    int mask_word;     /* its bytes */
    int slice_words;   /* int64s of a work-group that adds slices */
    int self_test_items;
} sbn_form_sizes;

const sbn_form_sizes *sbn__form_sizes(sbn_kernel_form form);

/* Writes the build options (-D) of a form. */
void sbn__kernel_macros(sbn_kernel_form form, char *out, size_t size);
