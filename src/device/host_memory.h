/*
 * Memory of the host as a buffer of OpenCL. Drivers of CPUs use it as it is, or keep a copy, as OpenCL lets them; they
 * do not say which, so that it is tried. Where they copy, and for other devices, the library does so itself.
 */
#pragma once

#include "device/device.h"

/* Finds out whether memory is copied for the replica's device, at its first call. */
int sbn__host_memory_try(sbn_replica *replica);

/*
 * A buffer on memory of the host, to be given back when no command uses it. Where the memory is used
 * as it is, some are kept for later passes on the same memory: what is there by then does not matter.
 */
int sbn__host_memory_take(sbn_replica *replica, void *address, size_t size, cl_mem *mem);
void sbn__host_memory_give(sbn_replica *replica, void *address, size_t size, cl_mem mem);

/* Brings what the device wrote, before, to a buffer's memory, where that is copied. Blocks. */
int sbn__host_memory_fetch(const sbn_replica *replica, void *address, size_t size, cl_mem mem);
