/* Programs: built for a device and shared by its replicas; and the kernels of each replica. */
#ifndef SBN_DEVICE_PROGRAM_H
#define SBN_DEVICE_PROGRAM_H

#include <syncbn/batchnorm.h>

#include "base/activation.h"
#include "base/type.h"
#include "device/compiler_options.h"
#include "device/opencl.h"
#include "device/program_text.h"
#include "exact/format.h"

enum { SBN_NARROW = 0, SBN_WIDE = 1, SBN_FORMATS = 2 };
/* Kernels of step 1, the CPU form's first: src/device/launch_plan.c says which is for what. */
enum {
    SBN_REDUCE_NCHW,
    SBN_REDUCE_NHWC,
    SBN_REDUCE_LARGE_PLANES,
    SBN_REDUCE_SMALL_PLANES,
    SBN_REDUCE_COLUMNS,
    SBN_REDUCE_ROWS,
    SBN_REDUCTIONS
};
/* Of kernels that differ by sbn_layout. */
enum { SBN_LAYOUTS = SBN_LAYOUT_NHWC + 1 };
/* How apply kernels go over a tensor: cl/cpu/apply_walk.cl, cl/gpu/apply.cl. */
enum { SBN_WALK_FLAT, SBN_WALK_ROWS, SBN_WALK_PLANES, SBN_WALKS };

/* A kernel with the work-group size it was built for. */
typedef struct sbn_kernel {
    cl_kernel kernel;
    const char *name;
    size_t local[3];
} sbn_kernel;

/*
 * The kernels of one replica: arguments are set per launch, so no two replicas share them. Of
 * reductions and walks there are those of its form. These read and write tensors of one type; ...
 */
typedef struct sbn_kernels {
    sbn_kernel forward_reduce[SBN_REDUCTIONS][SBN_FORMATS];
    sbn_kernel backward_reduce[SBN_REDUCTIONS][SBN_FORMATS];
    sbn_kernel forward_apply[SBN_WALKS], backward_apply[SBN_WALKS];
    /* By layout. CPU form, on devices with doubles. */
    sbn_kernel forward_whole[SBN_LAYOUTS][SBN_FORMATS], backward_whole[SBN_LAYOUTS][SBN_FORMATS];
} sbn_kernels;

/* ... these do not touch tensors. */
typedef struct sbn_sum_kernels {
    sbn_kernel add_slices, store_gradients;
    sbn_kernel forward_combine[SBN_FORMATS], backward_combine[SBN_FORMATS];
    int combine; /* there are the last ones: the device has doubles */
} sbn_sum_kernels;

/*
 * The programs of a device in a context, shared by all groups (src/device/programs.c), as far as
 * they exist (sbn__program_exists). Views have programs in the GPU form, for step 1 alone, because
 * all other kernels take the gaps of views without a cost.
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

/* AUTO becomes the form that suits the device. */
int sbn__program_form(cl_device_id device, sbn_kernel_form wanted, sbn_kernel_form *form);

/*
 * 1 unless the device is a CPU: CPU drivers compile again at each kernel's first launch, have a
 * cache of their own, and take seconds to return a binary (PoCL).
 */
int sbn__program_is_worth_caching(cl_device_id device);

/*
 * Returns the programs that `wanted` describes up to its options, which may be NULL; they are built
 * unless a group of the process has them already. `folder`: the configuration's program_cache. Each
 * call needs an sbn__program_release.
 */
int sbn__program_acquire(const sbn_program *wanted, const char *folder, sbn_program **program);
void sbn__program_release(sbn_program *program);

/* Builds the programs that the struct describes, and releases them. `cache`: of sbn__cache_open. */
int sbn__program_build(sbn_program *program, int cache);
void sbn__program_unload(sbn_program *program);

/* The kernels' names. */
const char *sbn__reduction_name(int reduction, int is_backward);
const char *sbn__walk_name(int walk, int is_backward);

/* Of programs with a fusion, only those that differ by it. */
int sbn__kernels_create(sbn_kernels *kernels, const sbn_program *program);
void sbn__kernels_release(sbn_kernels *kernels);
/* From the programs of any type. */
int sbn__sum_kernels_create(sbn_sum_kernels *kernels, const sbn_program *program);
void sbn__sum_kernels_release(sbn_sum_kernels *kernels);

/* The format of a pass. */
const sbn_format *sbn__forward_format(int format);
const sbn_format *sbn__backward_format(int format);

#endif
