/*
 * The arguments of kernels. Of each list of cl/common/arguments.h there is a struct with a member for
 * each argument, whose name tells it from all others, and a function that appends them to those of a
 * kernel. The struct must live until the kernel is enqueued.
 */
#pragma once

#include <string.h>

#include "cl/common/arguments.h"
#include "device/commands.h"

/* A `number` of kernels, which is its bits where they have no doubles (cl/common/doubles.cl). */
typedef cl_double cl_number;

typedef struct sbn_arguments {
    sbn_argument list[64];
    size_t count;
} sbn_arguments;

#define SBN_MEMBER_BUFFER(type, name) cl_mem name;
#define SBN_MEMBER_VALUE(type, name) cl_##type name;
#define SBN_NOTHING()
#define SBN_OWN_ARGUMENT(type, name) SBN_ARG(own->name)
#define SBN_COMMA() ,

#define SBN_ARGUMENTS_OF(kernel, LIST) \
    typedef struct sbn_##kernel##_arguments { \
        LIST(SBN_MEMBER_BUFFER, SBN_MEMBER_VALUE, SBN_NOTHING) \
    } sbn_##kernel##_arguments; \
    static inline void sbn__add_##kernel(sbn_arguments *arguments, \
                                         const sbn_##kernel##_arguments *own) \
    { \
        const sbn_argument more[] = {LIST(SBN_OWN_ARGUMENT, SBN_OWN_ARGUMENT, SBN_COMMA)}; \
        memcpy(arguments->list + arguments->count, more, sizeof more); \
        arguments->count += sizeof more / sizeof *more; \
    }

SBN_ARGUMENTS_OF(forward_reduce, FORWARD_REDUCE_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_reduce, BACKWARD_REDUCE_ARGUMENTS)
SBN_ARGUMENTS_OF(activation, ACTIVATION_ARGUMENTS)
SBN_ARGUMENTS_OF(slice, SLICE_ARGUMENTS)
SBN_ARGUMENTS_OF(cpu_slice, CPU_SLICE_ARGUMENTS)
SBN_ARGUMENTS_OF(gpu_slice, GPU_SLICE_ARGUMENTS)
SBN_ARGUMENTS_OF(add_slices, ADD_SLICES_ARGUMENTS)
SBN_ARGUMENTS_OF(source, SOURCE_ARGUMENTS)
SBN_ARGUMENTS_OF(own_wide, OWN_WIDE_ARGUMENTS)
SBN_ARGUMENTS_OF(tail, TAIL_ARGUMENTS)
SBN_ARGUMENTS_OF(combine, COMBINE_ARGUMENTS)
SBN_ARGUMENTS_OF(forward_combine, FORWARD_COMBINE_ARGUMENTS)
SBN_ARGUMENTS_OF(tracking, TRACKING_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_combine, BACKWARD_COMBINE_ARGUMENTS)
SBN_ARGUMENTS_OF(own, OWN_ARGUMENTS)
SBN_ARGUMENTS_OF(forward_tensor, FORWARD_TENSOR_ARGUMENTS)
SBN_ARGUMENTS_OF(forward_apply, FORWARD_APPLY_ARGUMENTS)
SBN_ARGUMENTS_OF(forward_fusion, FORWARD_FUSION_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_tensor, BACKWARD_TENSOR_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_apply, BACKWARD_APPLY_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_fusion, BACKWARD_FUSION_ARGUMENTS)
SBN_ARGUMENTS_OF(walk, WALK_ARGUMENTS)
SBN_ARGUMENTS_OF(store, STORE_ARGUMENTS)
SBN_ARGUMENTS_OF(store_gradients, STORE_GRADIENTS_ARGUMENTS)
SBN_ARGUMENTS_OF(whole, WHOLE_ARGUMENTS)
SBN_ARGUMENTS_OF(backward_whole, BACKWARD_WHOLE_ARGUMENTS)
