/* The programs of a device in a context: what they are built from, and their handles. */
#ifndef SBN_PROGRAM_PROGRAM_H
#define SBN_PROGRAM_PROGRAM_H

#include <syncbn/batchnorm.h>

#include "base/activation.h"
#include "base/type.h"
#include "exact/format.h"
#include "program/opencl.h"

/*
 * Step 1 in the formats, in their order, and all the rest. Programs with a fusion have only the
 * kernels that differ by it.
 */
enum { SBN_PROGRAM_NARROW, SBN_PROGRAM_WIDE, SBN_PROGRAM_APPLY, SBN_PROGRAMS };

/* Compilers that take options of their own: src/program/compiler_options.h. */
typedef enum sbn_compiler {
    SBN_COMPILER_PLAIN,
    SBN_COMPILER_REGISTERS,   /* NVIDIA's, which takes a limit */
    SBN_COMPILER_SUB_GROUPS16 /* Intel's, for threads of 16 or 32 work-items */
} sbn_compiler;

/*
 * All groups share them (src/program/programs.h). Those of step 1 may be missing where they have no
 * kernel that a fusion changes. Programs for views have step 1 alone, of the GPU form, whose other
 * kernels take the gaps of views without a cost.
 */
typedef struct sbn_program {
    cl_context context;
    cl_device_id device;
    sbn_kernel_form form;
    sbn_type type;
    int fusion; /* of base/activation.h; without self-tests, which the plain one has passed */
    int views;
    int half_by_bits; /* GPU form: OpenCL's functions convert halves wrongly (cl/common/storage.cl) */
    const char *options; /* the caller's, for the compiler; behind the struct */
    sbn_compiler compiler;
    cl_program reduce[SBN_FORMATS], apply;
    struct sbn_program *next;
    size_t users;
    int built;
} sbn_program;

/* The programs of a type, as a number below SBN_VARIANTS. */
enum { SBN_VARIANTS = 2 * SBN_FUSIONS };

static inline int sbn__variant_of(int fusion, int views)
{
    return fusion + SBN_FUSIONS * views;
}

/* 1 if it has kernels of step 1. A residual alone changes passes in one launch, which the CPU form has. */
static inline int sbn__program_sums(const sbn_program *program)
{
    return program->form == SBN_FORM_CPU || !program->fusion || sbn__fusion_sums(program->fusion);
}

#endif
