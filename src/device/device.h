/*
 * One replica's OpenCL objects: its queue, its kernels, and the few commands that passes enqueue.
 * Every command takes a wait list and returns an event, so that in-order and out-of-order queues
 * are treated alike.
 */
#ifndef SBN_DEVICE_DEVICE_H
#define SBN_DEVICE_DEVICE_H

#include "device/program.h"
#include "device/tuning.h"

typedef struct sbn_replica {
    size_t index;
    cl_command_queue queue;
    cl_command_queue transfer_queue; /* the library's: independent of the caller's commands */
    cl_context context;
    cl_device_id device;
    size_t compute_units;
    int in_order; /* the queue keeps order */
    cl_ulong max_allocation, cache_size;
    sbn_kernel_form form;
    sbn_tuning tuning;
    sbn_program *programs[SBN_TYPES][SBN_VARIANTS]; /* whose kernels are loaded; else NULL */
    sbn_kernels kernels[SBN_TYPES][SBN_VARIANTS];   /* 0: without a fusion */
    sbn_sum_kernels sum_kernels;
} sbn_replica;

/* Retains the queue and queries its device. */
int sbn__replica_open(sbn_replica *replica, size_t index, cl_command_queue queue);
void sbn__replica_close(sbn_replica *replica);

/*
 * Makes the kernels for tensors of a type with a fusion, unless they are there: floats' without one
 * first, with which those come that do not touch tensors, and a type's without one before those
 * with one, and before those of `views`. `folder`: as of sbn__program_acquire.
 */
int sbn__replica_load(sbn_replica *replica, sbn_type type, int fusion, int views,
                      const char *options, const char *folder);
void sbn__replica_unload(sbn_replica *replica, sbn_type type, int variant);

/* sbn__fail for an OpenCL call: "replica 0: clFlush: ...". */
int sbn__fail_cl(const sbn_replica *replica, const char *call, cl_int code);

/* Replicas whose devices may combine: cl/common/integers_narrow.cl has room for the blocks of as many. */
#define SBN_MAX_COMBINED 64

/* Events to wait for; NULL is ignored. */
#define SBN_MAX_WAIT (SBN_MAX_COMBINED + 4)

typedef struct sbn_wait {
    cl_event events[SBN_MAX_WAIT];
    cl_uint count;
} sbn_wait;

void sbn__wait_add(sbn_wait *wait, cl_event event);

/* A kernel argument: SBN_ARG of a variable. */
typedef struct sbn_argument {
    size_t size;
    const void *value;
} sbn_argument;

#define SBN_ARG(variable) \
    { \
        sizeof(variable), &(variable) \
    }

/* Enqueues a kernel over `work_groups` of its size in `dimensions`. The event is the caller's. */
int sbn__launch(sbn_replica *replica, sbn_kernel *kernel, const sbn_argument *arguments,
                size_t count, cl_uint dimensions, const size_t *work_groups, const sbn_wait *wait,
                cl_event *event);

int sbn__read(sbn_replica *replica, cl_mem buffer, size_t size, void *out, const sbn_wait *wait,
              cl_event *event);
int sbn__write(sbn_replica *replica, cl_mem buffer, size_t size, const void *in,
               const sbn_wait *wait, cl_event *event);

/* Enqueues a marker that waits for a list of any length. */
int sbn__marker(sbn_replica *replica, cl_uint count, const cl_event *events, cl_event *event);

int sbn__flush(sbn_replica *replica);

/* The state of a command: CL_COMPLETE to CL_QUEUED, negative if it failed. */
int sbn__event_state(const sbn_replica *replica, cl_event event, cl_int *state);

/* Sets *done to 1 if the command has ended; a failed command is an error. */
int sbn__event_done(const sbn_replica *replica, cl_event event, int *done);

/* Releases *event unless it is NULL. */
void sbn__release_event(cl_event *event);

/*
 * Replaces *slot and releases its former event. The new event is retained or, if that fails, waited
 * for; *slot is then NULL, as the command and those before it are over.
 */
int sbn__keep_event(const sbn_replica *replica, cl_event *slot, cl_event event);

/* Replaces *slot by *event and sets *event to NULL. */
void sbn__move_event(cl_event *slot, cl_event *event);

/* A buffer that is kept while it is large enough, else allocated anew. */
typedef struct sbn_device_buffer {
    cl_mem mem;
    size_t size;
    int on_host; /* in memory of the host, which the device reaches */
} sbn_device_buffer;

int sbn__reserve(sbn_replica *replica, sbn_device_buffer *buffer, size_t size);

/*
 * The same in memory of the host: for what every layer keeps and kernels touch once a pass, so that it
 * takes no device memory.
 */
int sbn__reserve_on_host(sbn_replica *replica, sbn_device_buffer *buffer, size_t size);
void sbn__release_buffer(sbn_device_buffer *buffer);

#endif
