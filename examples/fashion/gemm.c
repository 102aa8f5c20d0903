#include "gemm.h"

#include <clblast_c.h>

#include "check.h"

/* a and b are stored row by row; each is taken as its transpose if asked. */
static void gemm(struct device *device, int transpose_a, int transpose_b, size_t m, size_t n,
                 size_t k, cl_mem a, cl_mem b, size_t b_offset, cl_mem c, size_t c_offset)
{
    must_blas(CLBlastSgemm(CLBlastLayoutRowMajor,
                           transpose_a ? CLBlastTransposeYes : CLBlastTransposeNo,
                           transpose_b ? CLBlastTransposeYes : CLBlastTransposeNo, m, n, k, 1.0f, a,
                           0, transpose_a ? m : k, b, b_offset, transpose_b ? k : n, 0.0f, c,
                           c_offset, n, &device->queue, NULL),
              "multiplying matrices");
}

void gemm_forward(struct device *device, const struct network *network, int b, cl_mem parameters)
{
    const struct block *block = &network->block[b];
    const struct tensors *t = &device->block[b];

    gemm(device, 0, 0, device->images * block->rows, block->out, block->depth, t->columns,
         parameters, block->weights, device_linear(device, b), 0);
}

void gemm_weights(struct device *device, const struct network *network, int b)
{
    const struct block *block = &network->block[b];
    const struct tensors *t = &device->block[b];

    gemm(device, 1, 0, block->depth, block->out, device->images * block->rows, t->columns,
         device_d_linear(device, b), 0, device->gradients, block->weights);
}

void gemm_columns(struct device *device, const struct network *network, int b, cl_mem d_columns)
{
    const struct block *block = &network->block[b];

    gemm(device, 0, 1, device->images * block->rows, block->depth, block->out,
         device_d_linear(device, b), device->parameters, block->weights, d_columns, 0);
}
