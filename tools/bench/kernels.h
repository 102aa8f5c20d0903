/* The benchmark's own kernels. */
#pragma once

#include "bench/contender.h"
#include "device/commands.h"

/* Builds the scene's program, for its device and form. */
int bench_program_make(scene *s);

/* A kernel whose arguments are set and whose range is known: ready to be run again and again. */
typedef struct bench_kernel {
    cl_kernel kernel; /* NULL: the program has none of this name */
    size_t items, local;
} bench_kernel;

/* The arguments of a kernel, by SBN_ARG, and how many there are. */
#define BENCH_ARGUMENTS(...) \
    (const sbn_argument[]){__VA_ARGS__}, \
        sizeof((const sbn_argument[]){__VA_ARGS__}) / sizeof(sbn_argument)

/*
 * The number of work-items is rounded up to a multiple of `local`. A program without a kernel of
 * this name is no error.
 */
int bench_kernel_make(scene *s, const char *name, const sbn_argument *arguments, size_t count,
                      size_t items, size_t local, bench_kernel *made);
void bench_kernel_release(bench_kernel *k);

/* A buffer of so many floats. */
int bench_buffer_make(scene *s, size_t floats, cl_mem *made);

/* Enqueues it on the scene's queue; nothing where there is no kernel. */
int bench_enqueue(scene *s, const bench_kernel *k);
