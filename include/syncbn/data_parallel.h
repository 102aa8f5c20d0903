/*
 * What data-parallel training needs besides batch norm: the same weights on all replicas at the
 * start (sbn_broadcast), and the mean of their gradients after each backward pass
 * (sbn_average_gradients). Works within one process and with every transport that can be split.
 * doc/walkthrough.md explains a whole program, the arithmetic and the costs.
 *
 *   sbn_data_parallel_create(group, NULL, &parallel);
 *   sbn_broadcast(parallel, counts, tensors, 0, weights);
 *   for each step
 *       ... forward, backward ...
 *       sbn_average_gradients(parallel, counts, tensors, gradients);
 *       ... update the weights ...
 *
 * Exchanges are broadcasts and averagings. All ranks begin the same exchanges in the same order, at
 * most SBN_MAX_PASSES under way. Calls that wait (sbn_exchange_end, sbn_pass_end and those that
 * include them) are made in the same order on all ranks, too. Passes of the group and exchanges may
 * be under way side by side. On a rank without replicas the calls do nothing and return at once.
 */
#ifndef SYNCBN_DATA_PARALLEL_H
#define SYNCBN_DATA_PARALLEL_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_data_parallel sbn_data_parallel;

/* The settings of exchanges. */
typedef struct sbn_data_parallel_config {
    size_t size;         /* sizeof(sbn_data_parallel_config) */
    size_t bucket_bytes; /* of one replica's tensors that are sent together; 4096 ... 2^30 */
} sbn_data_parallel_config;

/* Buckets of 4 MiB. */
#define SBN_DATA_PARALLEL_CONFIG_INIT \
    { \
        sizeof(sbn_data_parallel_config), 4194304 \
    }

/* Writes SBN_DATA_PARALLEL_CONFIG_INIT to a struct of `size` bytes. */
SBN_API int sbn_data_parallel_config_init(sbn_data_parallel_config *config, size_t size);

/*
 * Connects the replicas of a group for the calls below. Blocks until all ranks of the group have
 * called it, at most for the group's timeout.
 *
 * Every rank calls this in its turn, as it calls sbn_group_split, with the same `config` (NULL: the
 * default). It belongs to the group's thread, has the group's timeout, and ends before the group.
 * After a timeout, in a pass of the group too, it takes no more exchanges, whatever the group's
 * on_timeout is: there is no average of some of the gradients. sbn_group_abort of the group ends it too.
 *
 * Errors. Those of sbn_group_split; *parallel is then NULL. SBN_INVALID_ARGUMENT also for more than
 * SBN_MAX_REPLICAS replicas. A wrong `config` of one rank is SBN_REMOTE_ERROR on the others.
 * SBN_GROUP_FAILED: the group goes on alone after a timeout. A rank without replicas may succeed
 * where those with replicas fail: for want of memory, or with more than SBN_MAX_REPLICAS of them.
 */
SBN_API int sbn_data_parallel_create(sbn_group *group, const sbn_data_parallel_config *config,
                                     sbn_data_parallel **parallel);

/*
 * Ends it. Waits for copies that still run. Over MPI all ranks end their sbn_data_parallels, and
 * parts of a split, in one order, and wait up to a second for each other.
 *
 * Errors. SBN_INVALID_ARGUMENT, while exchanges are under way; it then stays as it was.
 */
SBN_API int sbn_data_parallel_destroy(sbn_data_parallel *parallel);

/* How many replicas all ranks have together; 0 on a rank without replicas. */
SBN_API size_t sbn_data_parallel_replicas(const sbn_data_parallel *parallel);

/*
 * The number of this rank's first replica. The replicas of all ranks are numbered from 0 on, in the
 * order of ranks and, within a rank, of the group's queues. 0 on a rank without replicas.
 */
SBN_API size_t sbn_data_parallel_first(const sbn_data_parallel *parallel);

/*
 * One replica's tensors, float32. Their number and their elements are the same on all replicas.
 *
 * A tensor that is written must not overlap another one of the call, of any replica of this
 * process. (A broadcast does not write the root's.) Until the exchange has ended, tensors, arrays
 * and wait lists must stay, and the tensors must not be used.
 *
 * Events as in sbn_shard. The copies run on a queue of the library's own. They wait for the
 * commands that your queue holds when the exchange begins (an out-of-order queue: for the wait
 * list), and for nothing later: kernels that you enqueue afterwards run beside them. But where
 * another exchange begins before this one has ended, this one's copies back may wait for what that
 * one waits for. Commands enqueued after the exchange has ended find the tensors exchanged (on an
 * out-of-order queue: those that wait for `event`).
 */
typedef struct sbn_tensors {
    size_t size;                        /* sizeof(sbn_tensors) */
    const sbn_buffer *buffers;          /* one per tensor; of no elements: may be zero */
    uint32_t num_wait;                  /* events in wait_list */
    struct _cl_event *const *wait_list; /* a const cl_event *; not read if num_wait is 0 */
    struct _cl_event **event;           /* a cl_event *, or NULL */
} sbn_tensors;

#define SBN_TENSORS_INIT \
    { \
        sizeof(sbn_tensors), NULL, 0, NULL, NULL \
    }

/*
 * Copies the tensors of replica `root` to all other replicas, bit for bit. The number `root` is as
 * of sbn_data_parallel_first. `counts` has the elements of each of the `tensors` tensors;
 * `replicas` has one element for each replica of this process.
 *
 * Blocks until the data of all ranks is here, at most for the group's timeout after the last
 * progress; then enqueues the last copies to the devices and returns without waiting for them.
 *
 * Errors. All ranks are told of an error, except of a `parallel` that is none, of NULL for
 * `exchange` of a begin, and of more than SBN_MAX_PASSES exchanges.
 * - SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY. SBN_REMOTE_ERROR: another rank failed.
 *   SBN_DISAGREEMENT: the ranks gave other tensors, sizes, root, bucket_bytes, or made another
 *   call. Nothing has changed, and the next exchange may succeed.
 * - OpenCL's codes: a device failed, and the tensors are undefined. The next exchange may succeed,
 *   unless results could not be written to a device: then it fails on all ranks.
 * - SBN_TIMEOUT, SBN_TRANSPORT_ERROR, SBN_ABORTED: the sbn_data_parallel takes no more exchanges.
 */
SBN_API int sbn_broadcast(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                          size_t root, const sbn_tensors *replicas);

/*
 * Replaces each element by its mean over all replicas. `counts`, `tensors` and `replicas` are as of
 * sbn_broadcast, and so is what blocks.
 *
 * The result has the same bits on all replicas, however the replicas are spread over devices,
 * processes and hosts, and whatever bucket_bytes is. The mean is off by at most 2^-43 of the
 * largest magnitude, over all replicas, in the element's block of 1024 (or by 2^-170), plus half a
 * unit in the last place of the float. (From 4097 replicas on, 2^-43 doubles with each doubling of
 * their number. In a block with NaN or Inf finite means are off by more from 9 replicas on:
 * doc/walkthrough.md.) No sum overflows. A mean is NaN where a replica has NaN, or Inf of both
 * signs, and Inf where it has Inf. Means of zeros are +0. The gradients of a single replica stay as
 * they are.
 *
 * Average batch norm's local gradients, the default, with all others. Those of SBN_GLOBAL_GRADIENTS
 * are sums over the group already: next to averaged ones they are too large by the number of
 * replicas.
 *
 * Errors. Those of sbn_broadcast.
 */
SBN_API int sbn_average_gradients(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                                  const sbn_tensors *replicas);

/* An exchange under way: a broadcast or an averaging. */
typedef struct sbn_exchange sbn_exchange;

/*
 * Begins what sbn_broadcast does, so that other work can run meanwhile. Does not wait for other
 * ranks or for copies, unless it fails: then it waits until the others know. End it with
 * sbn_exchange_end, exchanges in any order that is the same on all ranks.
 *
 * Errors. Those of sbn_broadcast; *exchange is then NULL and there is no exchange.
 */
SBN_API int sbn_broadcast_begin(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                                size_t root, const sbn_tensors *replicas, sbn_exchange **exchange);

/* Begins what sbn_average_gradients does, by the rules of sbn_broadcast_begin. */
SBN_API int sbn_average_gradients_begin(sbn_data_parallel *parallel, const size_t *counts,
                                        size_t tensors, const sbn_tensors *replicas,
                                        sbn_exchange **exchange);

/*
 * Moves all exchanges on as far as possible. Never blocks on other ranks or on devices, but
 * converts floats to integers and back, at some 3 ns per element.
 *
 * Sets *ready (may be NULL) to 1 when sbn_exchange_end of this exchange will not wait. Exchanges
 * make progress only within the calls of this header. Do not wait by calling it until ready: only
 * sbn_exchange_end observes the timeout. Errors of the exchange are kept for sbn_exchange_end.
 */
SBN_API int sbn_exchange_progress(sbn_exchange *exchange, int *ready);

/*
 * Ends an exchange, whatever this returns. Blocks as sbn_broadcast does.
 *
 * Errors. Those of sbn_broadcast.
 */
SBN_API int sbn_exchange_end(sbn_exchange *exchange);

#ifdef __cplusplus
}
#endif

#endif
