/*
 * The network: what its blocks are, and where their weights lie. Nothing here
 * touches a device.
 *
 *   conv1   3x3, 1 -> 16    batch norm, ReLU, 2x2 max pool    28x28 -> 14x14
 *   conv2   3x3, 16 -> 32   batch norm, ReLU, 2x2 max pool    14x14 -> 7x7
 *   dense   1568 -> 64      batch norm, ReLU
 *   classes 64 -> 10
 *
 * Every block begins with one GEMM, rows x depth times depth x out. The dense
 * block's batch norm sees one value per image: per replica, with two images,
 * that leaves nothing of a value but which of the two was larger.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BLOCKS = 4, NORMS = 3 }; /* all blocks but the last are normalised */

struct block {
    const char *name;
    int convolution;          /* else dense, over all values of an image */
    int pool;                 /* side of the max pooling's window; 1: none */
    size_t height, width, in; /* of the input, `in` channels */
    size_t out;               /* channels of the output */
    size_t rows;              /* of the GEMM, per image: one per pixel, or one */
    size_t depth;             /* of the GEMM: values that go into one output */
    size_t weights;           /* where its depth x out weights begin */
    size_t gamma, beta;       /* where its affine weight and bias begin, `out` each */
};

/*
 * All parameters of a replica lie in one array, so that averaging gradients
 * and descending are one call each: first all weights, then from `norms` on
 * the affine parameters of the batch norms.
 */
struct network {
    struct block block[BLOCKS];
    size_t norms;
    size_t parameters;
};

struct network network_make(void);

/* Values of one image after a block's GEMM, and after its pooling. */
size_t block_values(const struct block *block);
size_t block_outputs(const struct block *block);

/* Fills parameters: He et al. 2015, arXiv:1502.01852, uniform; gamma 1, beta 0. */
void network_start(const struct network *network, uint64_t seed, float *parameters);
