/* The programs of a device in a context: what they are built from, and their handles. */
#pragma once

#include <syncbn/batchnorm.h>

#include "base/activation.h"
#include "base/type.h"
#include "exact/format.h"
#include "program/opencl.h"

/* Step 1 of each pass, and all the rest. */
enum { SBN_PROGRAM_FORWARD, SBN_PROGRAM_BACKWARD, SBN_PROGRAM_APPLY, SBN_PROGRAMS };

/* Compilers that take options of their own: src/program/compiler_options.h. */
typedef enum sbn_compiler {
    SBN_COMPILER_PLAIN,
    SBN_COMPILER_REGISTERS,    /* NVIDIA's, which takes a limit */
    SBN_COMPILER_SUB_GROUPS16, /* Intel's, where threads have 16 work-items or 32 */
    SBN_COMPILER_UNFENCED      /* NVIDIA's before Volta: last_slice.cl */
} sbn_compiler;

/*
 * Which kernels: 0, all of the CPU form, or those of the GPU form that do not reduce; else the GPU
 * form's reductions of a pass for one layout, with channels last where planes have one element,
 * dense or in views, whose gaps cost reductions registers and nothing else.
 */
enum {
    SBN_PART_BACKWARD = 1,
    SBN_PART_CHANNELS_LAST = 2,
    SBN_PART_VIEWS = 4,
    SBN_PART_REDUCES = 8,
    SBN_PARTS = 16
};

static inline int sbn__part_of_reductions(int is_backward, int channels_last, int views)
{
    return SBN_PART_REDUCES + SBN_PART_BACKWARD * is_backward +
           SBN_PART_CHANNELS_LAST * channels_last + SBN_PART_VIEWS * views;
}

/*
 * What programs of the GPU form can do without: OpenCL's functions for halves (cl/common/storage.cl), of
 * which f16's first program decides; a fence (cl/gpu/last_slice.cl), of which floats' decides for all types.
 */
enum { SBN_WITHOUT_HALF_FUNCTIONS = 1, SBN_WITHOUT_FENCE = 2 };

/* All groups share them (src/program/programs.h), as far as they exist (sbn__program_exists). */
typedef struct sbn_program {
    cl_context context;
    cl_device_id device;
    sbn_kernel_form form;
    sbn_type type;
    int fusion; /* of base/activation.h; without self-tests, which the plain one has passed */
    int part;
    unsigned without;    /* SBN_WITHOUT_...: what has not passed its self-test, of a first build */
    const char *options; /* the caller's, for the compiler; behind the struct */
    sbn_compiler compiler;
    cl_program programs[SBN_PROGRAMS];
    struct sbn_program *next;
    size_t users;
    int built;
} sbn_program;

/* The programs of a type, as a number below SBN_VARIANTS. */
enum { SBN_VARIANTS = SBN_PARTS * SBN_FUSIONS };

static inline int sbn__variant_of(int fusion, int part)
{
    return fusion + SBN_FUSIONS * part;
}
