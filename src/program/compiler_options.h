/* Options that some vendors' compilers need to keep enough work-items of the GPU form resident. */
#pragma once

#include "program/program.h"

/*
 * Chooses by a device's extensions, its smallest sub-group and the major number of its compute
 * capability (0: it does not say).
 */
sbn_compiler sbn__compiler_by(const char *extensions, size_t least_sub_group, cl_uint capability);

/* Finds the compiler of a device, for programs of a form. */
int sbn__compiler_of(cl_device_id device, sbn_kernel_form form, sbn_compiler *compiler);

/* The largest buffer that kernels address which are built with the caller's options, or NULL. */
int sbn__largest_buffer(cl_device_id device, const char *options, cl_ulong *bytes);

/* The error of a larger one. */
int sbn__fail_large(cl_ulong most, size_t bytes, const char *who, const char *name);

/*
 * The options for a program of program_text.h with a fusion; "" where there is nothing to ask for. `more`:
 * the caller's options, of which a limit of registers holds.
 */
const char *sbn__compiler_options(sbn_compiler compiler, int program, int fusion, const char *more);
