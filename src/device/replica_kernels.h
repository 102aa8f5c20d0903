/*
 * The kernels of one replica, from the programs of its device. Arguments are set per launch, so no
 * two replicas share them.
 */
#pragma once

#include "program/program.h"

/* In this order: replica_kernels.c tells by ranges which programs have them. */
enum {
    /* Kernels of step 1, the CPU form's first: src/plan/cpu.c and gpu.c say which is for what. */
    SBN_REDUCE_NCHW,
    SBN_REDUCE_NHWC,
    SBN_REDUCE_LARGE_PLANES,
    SBN_REDUCE_SMALL_PLANES,
    SBN_REDUCE_ROWS,
    SBN_COMBINE,
    /* Of all steps: SBN_WHOLE_NCHW + layout. */
    SBN_WHOLE_NCHW,
    SBN_WHOLE_NHWC,
    /* Apply kernels walk over a tensor so: cl/cpu/apply_walk.cl, cl/gpu/apply.cl. */
    SBN_WALK_FLAT,
    SBN_WALK_ROWS,
    SBN_WALK_PLANES,
    /* Those that have no counterpart in the other pass. */
    SBN_ADD_SLICES,
    SBN_STORE_GRADIENTS,
    SBN_TEST_SLICES,
    SBN_KERNELS
};

/* A kernel with the work-group size it was built for. */
typedef struct sbn_kernel {
    cl_kernel kernel;
    const char *name;
    size_t local[3];
} sbn_kernel;

/* The kernels of a program: those that it has. */
typedef struct sbn_kernels {
    sbn_program *program;
    sbn_kernel of[SBN_KERNELS][2]; /* the second: of the backward pass */
} sbn_kernels;

const char *sbn__kernel_name(int kernel, int is_backward);

/* Of a new program, which the kernels, all 0, then own, whatever is returned. */
int sbn__kernels_create(sbn_kernels *kernels, sbn_program *program);
void sbn__kernels_release(sbn_kernels *kernels);
