/* The programs of a device in a context: what they are built from, and their handles. */
#ifndef SBN_PROGRAM_PROGRAM_H
#define SBN_PROGRAM_PROGRAM_H

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
    SBN_COMPILER_REGISTERS,   /* NVIDIA's, which takes a limit */
    SBN_COMPILER_INTEL,       /* whose threads have 8 work-items or more */
    SBN_COMPILER_SUB_GROUPS16 /* ... 16 or 32 */
} sbn_compiler;

/*
 * All groups share them (src/program/programs.h), as far as they exist (sbn__program_exists). Views
 * have programs in the GPU form, for step 1 alone, because all other kernels take the gaps of views
 * without a cost.
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
    cl_program programs[SBN_PROGRAMS];
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

#endif
