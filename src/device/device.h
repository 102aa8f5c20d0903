/* One replica's OpenCL objects: its queue and its kernels. */
#pragma once

#include "device/replica_kernels.h"
#include "device/tuning.h"

/* Of memory of the host as a buffer: src/device/host_memory.h. */
enum { SBN_HOST_MEMORY_UNTRIED, SBN_HOST_MEMORY_USED, SBN_HOST_MEMORY_COPIED };

/* A buffer on memory of the host, between the passes that use it. */
typedef struct sbn_host_memory {
    void *address;
    size_t size;
    cl_mem mem; /* NULL: none */
} sbn_host_memory;

enum { SBN_HOST_MEMORIES = 61 }; /* a prime: a digest of an address chooses one */

typedef struct sbn_replica {
    size_t index;
    cl_command_queue queue;
    cl_command_queue transfer_queue; /* the library's: independent of the caller's commands */
    cl_context context;
    cl_device_id device;
    size_t compute_units;
    int in_order;    /* the queue keeps order */
    int unified;     /* the device works in the host's memory */
    int host_memory; /* as it is, or copied */
    int wakes_late;  /* a thread that waits for the device sleeps */
    sbn_host_memory host_memories[SBN_HOST_MEMORIES];
    cl_ulong cache_size, largest_buffer; /* that its kernels address */
    sbn_kernel_form form;
    int counts_slices; /* its reductions do, once floats' first variant is loaded: cl/gpu/last_slice.cl */
    sbn_tuning tuning;
    sbn_kernels *kernels[SBN_TYPES][SBN_VARIANTS]; /* those that are loaded; 0: without a fusion */
} sbn_replica;

/* Retains the queue and queries its device. */
int sbn__replica_open(sbn_replica *replica, size_t index, cl_command_queue queue);
void sbn__replica_close(sbn_replica *replica);

/*
 * Makes the kernels of a variant for tensors of a type, unless they are there: floats' first variant before all
 * others, because it has the kernels that do not touch tensors, and a type's first one before its others.
 */
int sbn__replica_load(sbn_replica *replica, sbn_type type, int fusion, int part,
                      const sbn_group_config *config);

/* 1 if the device has kernels that combine, once floats' first variant is loaded. */
int sbn__replica_combines(const sbn_replica *replica);

/* SBN_SUCCESS, or sbn__fail for an OpenCL call: "replica 0: clFlush: ...". */
int sbn__check_cl(const sbn_replica *replica, const char *call, cl_int code);

/* The same for a call that makes or retains an object, which is counted. */
int sbn__opened(const sbn_replica *replica, const char *call, cl_int code);
