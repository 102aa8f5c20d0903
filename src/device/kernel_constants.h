/*
 * Numbers that the kernels are compiled with and the host must know: the library passes them to the
 * compiler by -D, and cl/ defines none of them. src/exact/format.h has those of the summation.
 */
#ifndef SBN_DEVICE_KERNEL_CONSTANTS_H
#define SBN_DEVICE_KERNEL_CONSTANTS_H

#include <syncbn/group.h>

/* Rows of a table of coefficients, one float per channel each; src/layer/coefficients.h. */
enum { SBN_ROW_MEAN_HIGH, SBN_ROW_MEAN_LOW, SBN_ROW_INVSTD, SBN_COEFFICIENT_ROWS };

/*
 * Rows of a backward pass's table: what dx needs, as cl/apply_backward.cl defines it, then the
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

/* Sizes of a form's kernels. */
typedef struct sbn_kernel_sizes {
    int width;      /* elements that a work-item handles at once: a vector, or one */
    int nchw_items; /* work-items of a work-group: reduction, channels first */
    int batch;      /* blocks whose sums it converts to integers at once */
    int sets;       /* batches that keep integers of their own, for strips of channels */
    int nhwc_items; /* work-items of a work-group: reduction, channels last; they take channels */
    int nhwc_rows;  /* and rows of work-items, which share the lanes of a block */
    int nhwc_strip; /* channels of a work-group */
    int tile_items; /* work-items of a work-group: apply */
    int tile;       /* elements of a row whose coefficients a work-group keeps */
    int combine_items; /* work-items of a work-group: combine */
    int combine_span;  /* channels of each of them */
} sbn_kernel_sizes;

const sbn_kernel_sizes *sbn__kernel_sizes(sbn_kernel_form form);

/* Writes the build options (-D) of a form; returns snprintf's length. */
int sbn__kernel_macros(sbn_kernel_form form, char *out, size_t size);

#endif
