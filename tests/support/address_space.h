/*
 * Floats far apart, without the memory between them: addresses are reserved, and pages come when
 * they are touched. The buffer names the first pages only: a driver for CPUs hands kernels the
 * host's address, and none takes buffers of such a size.
 */
#pragma once

#include <stddef.h>

#include "group/group.h"
#include "launch/arguments.h"

typedef struct address_space {
    float *at; /* zeros */
    size_t bytes;
    cl_mem mem;
} address_space;

/* 0: so many addresses cannot be reserved. */
int address_space_open(address_space *space, cl_context context, size_t floats);
void address_space_close(address_space *space);

/* Declares the arguments of a list of cl/common/arguments.h, of which those that are not named are 0. */
#define ARGUMENTS(list, own, ...) const sbn_##list##_arguments own = {__VA_ARGS__}

/* Runs a kernel of a replica to its end. */
void run_kernel(sbn_replica *replica, sbn_kernel *kernel, const sbn_arguments *arguments,
                cl_uint dimensions, const size_t *groups);
