/*
 * The few commands that passes enqueue on a replica's queue, their events, and the buffers that they
 * work on. Every command takes a wait list and returns an event, so that in-order and out-of-order
 * queues are treated alike; on the former the list of what is the queue's own stays empty.
 */
#pragma once

#include <stddef.h>

#include "device/device.h"

/* Replicas whose devices may combine: sources of the kernels. */
#define SBN_MAX_COMBINED 4

/* Events to wait for; NULL is ignored. */
#define SBN_MAX_WAIT (2 * SBN_MAX_COMBINED + 2)

typedef struct sbn_wait {
    cl_event events[SBN_MAX_WAIT];
    cl_uint count;
} sbn_wait;

void sbn__wait_add(sbn_wait *wait, cl_event event);

/*
 * The same for a command of the library's that `of` has enqueued, unless the order of the replica's own queue has it
 * over by then. Drivers may pay for each event that they are told of: AMD's enqueues a barrier and writes caches back.
 */
void sbn__wait_behind(sbn_wait *wait, const sbn_replica *replica, const sbn_replica *of,
                      cl_event event);

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

/*
 * Copy `size` bytes from byte `at` of a buffer on, or to there, before they return: on the replica's
 * queue behind the caller's commands, or on its transfer queue. `what`: of what, for a sentence.
 */
int sbn__read_now(const sbn_replica *replica, cl_command_queue queue, cl_mem buffer, size_t at,
                  size_t size, void *out, const char *what);
int sbn__write_now(const sbn_replica *replica, cl_command_queue queue, cl_mem buffer, size_t at,
                   size_t size, const void *in, const char *what);

/* Enqueues zeros. */
int sbn__clear(sbn_replica *replica, cl_mem buffer, size_t size, const sbn_wait *wait,
               cl_event *event);

/* Enqueues a marker that waits for a list of any length. */
int sbn__marker(const sbn_replica *replica, cl_uint count, const cl_event *events, cl_event *event);

/* The same of a caller's list: none if that is empty. */
int sbn__wait_list_marker(const sbn_replica *replica, cl_uint count, const cl_event *events,
                          cl_event *event);

int sbn__flush(sbn_replica *replica);
int sbn__finish(const sbn_replica *replica);

/* The state of a command: CL_COMPLETE to CL_QUEUED, negative if it failed. */
int sbn__event_state(const sbn_replica *replica, cl_event event, cl_int *state);

/* Sets *done to 1 if the command has ended; a failed command is an error. */
int sbn__event_done(const sbn_replica *replica, cl_event event, int *done);

/*
 * Waits for a command, a tenth of a millisecond at most, and stays awake: on a CPU a thread that sleeps
 * wakes some 50 us after the command's end, longer than a small pass takes.
 */
int sbn__event_await(const sbn_replica *replica, cl_event event);

/*
 * Waits for a command. The host may read what it has copied only then: asking for its state is no
 * synchronisation point.
 */
int sbn__event_wait(const sbn_replica *replica, cl_event event);

/* Releases *event unless it is NULL. */
void sbn__release_event(cl_event *event);

/* Gives *event to the caller and sets it to NULL. `place` may be NULL. */
void sbn__give_event(cl_event *place, cl_event *event);

/*
 * An array of `count` structs of a caller, NULL or invalid perhaps, of a type with a member `event` (SBN_EVENTS). What
 * these point to is set to NULL until there is a command for it; after an error, what has been given is taken back.
 */
#define SBN_EVENTS(type) sizeof(type), offsetof(type, event)
void sbn__forget_events(const void *array, size_t count, size_t known, size_t offset);
void sbn__withdraw_events(const void *array, size_t count, size_t known, size_t offset);

/*
 * Replaces *slot and releases its former event. The new event is retained or, if that fails, waited
 * for; *slot is then NULL, as the command and those before it are over.
 */
int sbn__keep_event(const sbn_replica *replica, cl_event *slot, cl_event event);

/* Replaces *slot by *event and sets *event to NULL. */
void sbn__move_event(cl_event *slot, cl_event *event);

/* A buffer that kernels read and write; NULL after an error, of `call`. The second ignores NULL. */
int sbn__create_mem(const sbn_replica *replica, cl_mem_flags flags, size_t size, void *host,
                    const char *call, cl_mem *mem);
void sbn__release_mem(cl_mem mem);

/* A buffer that is kept while it is large enough, else allocated anew. */
typedef struct sbn_device_buffer {
    cl_mem mem;
    size_t size;
    int on_host; /* in memory of the host, which the device works in */
} sbn_device_buffer;

int sbn__reserve(sbn_replica *replica, sbn_device_buffer *buffer, size_t size);

/*
 * For what every layer keeps and kernels touch once a pass: where the device works in the host's
 * memory it takes that, and no device memory. Others would reach it over a bus, in every pass.
 */
int sbn__reserve_kept(sbn_replica *replica, sbn_device_buffer *buffer, size_t size);
void sbn__release_buffer(sbn_device_buffer *buffer);
