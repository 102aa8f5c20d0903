/*
 * The kernels of one replica, from the programs of its device. Arguments are set per launch, so no
 * two replicas share them.
 */
#pragma once

#include "program/program.h"

/* Kernels of step 1, the CPU form's first: src/plan/cpu.c and gpu.c say which is for what. */
enum {
    SBN_REDUCE_NCHW,
    SBN_REDUCE_NHWC,
    SBN_REDUCE_LARGE_PLANES,
    SBN_REDUCE_SMALL_PLANES,
    SBN_REDUCE_ROWS,
    SBN_REDUCTIONS
};

/* Kernels that differ by sbn_layout have an array of them. */
enum { SBN_LAYOUTS = SBN_LAYOUT_NHWC + 1 };
/* Apply kernels walk over a tensor in one of these ways: cl/cpu/apply_walk.cl, cl/gpu/apply.cl. */
enum { SBN_WALK_FLAT, SBN_WALK_ROWS, SBN_WALK_PLANES, SBN_WALKS };

/* A kernel with the work-group size it was built for. */
typedef struct sbn_kernel {
    cl_kernel kernel;
    const char *name;
    size_t local[3];
} sbn_kernel;

/* The kernels of a program: those that it has. */
typedef struct sbn_kernels {
    sbn_program *program;
    sbn_kernel forward_reduce[SBN_REDUCTIONS];
    sbn_kernel backward_reduce[SBN_REDUCTIONS];
    sbn_kernel forward_combine, backward_combine;
    sbn_kernel forward_apply[SBN_WALKS], backward_apply[SBN_WALKS];
    sbn_kernel forward_whole[SBN_LAYOUTS], backward_whole[SBN_LAYOUTS];
    sbn_kernel add_slices, store_gradients;
    int counts_slices; /* floats' program has the self-test of it */
} sbn_kernels;

/* The kernels' names. */
const char *sbn__reduction_name(int reduction, int is_backward);
const char *sbn__walk_name(int walk, int is_backward);

/* Of a new program, which the kernels, all 0, then own, whatever is returned. */
int sbn__kernels_create(sbn_kernels *kernels, sbn_program *program);
void sbn__kernels_release(sbn_kernels *kernels);
