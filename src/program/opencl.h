/*
 * OpenCL 1.2, for the library. The public headers do not include it; this header checks that their
 * handle types are OpenCL's.
 */
#pragma once

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include <syncbn/tensor.h>

#define SBN_SAME_TYPE(a, b) _Generic((a){0}, b : 1, default : 0)
_Static_assert(SBN_SAME_TYPE(cl_mem, struct _cl_mem *), "a cl_mem is a struct _cl_mem *");
_Static_assert(SBN_SAME_TYPE(cl_event, struct _cl_event *), "a cl_event is a struct _cl_event *");
_Static_assert(SBN_SAME_TYPE(cl_command_queue, struct _cl_command_queue *),
               "a cl_command_queue is a struct _cl_command_queue *");
_Static_assert(SBN_SAME_TYPE(cl_device_id, struct _cl_device_id *),
               "a cl_device_id is a struct _cl_device_id *");
_Static_assert(SBN_SAME_TYPE(cl_uint, uint32_t), "a cl_uint is a uint32_t");
#undef SBN_SAME_TYPE
