/* How a batch is divided among the work-items of the unordered sums (unordered*.cl). */
#ifndef TOOLS_BENCH_UNORDERED_CUT_H
#define TOOLS_BENCH_UNORDERED_CUT_H

#include "bench/contender.h"

/* The kernels' arguments have the same names. */
typedef struct bench_cut {
    int rows; /* channels last, or planes of one element */
    cl_ulong samples, channels, plane;
    cl_ulong block, slice, slices; /* of the sums */
    size_t sum_items, sum_local;
    cl_ulong run;   /* planes or rows per work-item of the apply */
    cl_ulong whole; /* channels per work-item that sums and applies; 0: separate launches */
    cl_ulong whole_items;
    cl_int streams; /* non-temporal stores */
    size_t apply_items, apply_local;
} bench_cut;

/* For a scene's problem, device and form; the sums read `reads` tensors. */
bench_cut bench_cut_of(const scene *s, cl_ulong reads);

#endif
