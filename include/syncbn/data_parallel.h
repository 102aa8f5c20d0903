/*
 * What data-parallel training needs besides batch norm: the same weights on all replicas
 * at the start (sbn_broadcast) and the mean of their gradients after each backward pass
 * (sbn_average_gradients). Works with every transport that can be split, and within one
 * process. Which samples each replica takes: <syncbn/sampler.h>.
 *
 *   sbn_data_parallel_create(group, NULL, &parallel);
 *   sbn_broadcast(parallel, counts, tensors, 0, weights);
 *   for each step
 *       ... forward, backward ...
 *       sbn_average_gradients(parallel, counts, tensors, gradients);
 *       ... update the weights ...
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
 * Connects the replicas of a group for the calls below. Blocks until all ranks of the
 * group have called it, at most for the group's timeout.
 *
 * It has requests of its own (over MPI: communicators of its own), so passes of the group
 * and exchanges may be under way side by side. Every rank of the group calls this in its
 * turn as it calls sbn_group_split, with the same configuration (NULL: the default).
 * Calls below on a rank without replicas do nothing and return at once.
 *
 * The group cannot be destroyed before it, and it belongs to the group's thread. Its
 * timeout is the group's. After a timeout it takes no more exchanges, whatever the group's on_timeout
 * is: there is no average of some of the gradients. A group that goes on alone after a
 * timeout cannot make one (SBN_GROUP_FAILED). sbn_group_abort of the group ends it
 * too. (A job over MPI then ends as <syncbn-mpi.h> describes.)
 *
 * Memory. Three buckets are under way at a time. A bucket of n floats takes 4 n bytes of
 * host memory for each replica of this process, and 8 n bytes once, except for
 * broadcasts within a process; besides, each tensor of a replica takes 48 bytes. The
 * memory is kept from call to call and is never more than the largest call needed.
 *
 * Errors: those of sbn_group_split; SBN_INVALID_ARGUMENT also for more than
 * SBN_MAX_REPLICAS replicas; *parallel is then NULL. A wrong configuration of one rank is
 * SBN_REMOTE_ERROR on the others.
 */
SBN_API int sbn_data_parallel_create(sbn_group *group, const sbn_data_parallel_config *config,
                                     sbn_data_parallel **parallel);

/*
 * Ends it. Waits for copies that still run. SBN_INVALID_ARGUMENT, and it stays, while
 * exchanges are under way.
 */
SBN_API int sbn_data_parallel_destroy(sbn_data_parallel *parallel);

/* How many replicas all ranks have together; 0 on a rank without replicas. */
SBN_API size_t sbn_data_parallel_replicas(const sbn_data_parallel *parallel);

/*
 * The number, among the replicas of all ranks, of this rank's first: they are numbered from
 * 0 on in the order of ranks and, within a rank, of the group's queues. 0 on a rank without
 * replicas.
 */
SBN_API size_t sbn_data_parallel_first(const sbn_data_parallel *parallel);

/*
 * One replica's tensors, float32. Their number and their elements are the same on all
 * replicas. A tensor that is written must not overlap another one of the call, of any
 * replica of this process: SBN_INVALID_ARGUMENT. (A broadcast does not write the root's.)
 *
 * Events as in sbn_shard. The copies run on a queue of the library's own. When the
 * exchange begins they wait for the commands that the caller's queue holds then (an
 * out-of-order queue: for the wait list), and for nothing later: kernels enqueued
 * afterwards run beside them. Commands enqueued after the exchange has ended find the
 * tensors exchanged.
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

/* An exchange under way: a broadcast or an averaging. */
typedef struct sbn_exchange sbn_exchange;

/*
 * Begins a broadcast: the tensors of replica `root` (a number as of
 * sbn_data_parallel_first) are copied to all other replicas, bit for bit. Returns without
 * waiting for other ranks or for copies, unless it fails: then it waits until the others
 * know.
 *
 * `counts` has the elements of each of the `tensors` tensors; `replicas` has one
 * element for each replica of this process.
 *
 * Cost: 4 bytes per element over the transport (two elements in a word of 64 bits, to
 * which all other ranks add 0).
 */
SBN_API int sbn_broadcast_begin(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                                size_t root, const sbn_tensors *replicas, sbn_exchange **exchange);

/*
 * Begins an averaging: each element becomes its mean over all replicas. Returns without
 * waiting, as sbn_broadcast_begin does.
 *
 * The result has the same bits on all replicas, and however the replicas are spread over
 * devices, processes and hosts, and whatever the size of buckets.
 *
 * Method. A tensor is divided into blocks of 1024 elements. For each block the ranks agree
 * on a power of two above the largest magnitude that any replica has in it, then add
 * integers: each element over that power, in 50 bits.
 *
 * Error. Let M be the largest magnitude of a block over all replicas. The mean differs
 * from the exact one by at most 2^-43 M (or 2^-170), plus half a unit in the last place
 * of the float that it is rounded to. That is as good as adding in float32 for elements
 * down to a millionth of M, and does not grow with the number of replicas (except that
 * from 4097 replicas on 2^-43 doubles with each doubling of their number). No sum
 * overflows.
 *
 * NaN and Inf. A mean is NaN where a replica has NaN, or Inf of both signs, and Inf where
 * it has Inf. Finite elements in a block with NaN or Inf have an error of at most
 * 2^(-54 + 3 k) M where that is more, for fewer than 2^k replicas: 2^-42 M for up to 15,
 * 2^-33 M for up to 127. Means of zeros are +0. The gradients of a single replica stay as
 * they are.
 *
 * Do not average gradients that are the group's sums already (SBN_GLOBAL_GRADIENTS): they
 * are the same on all replicas and, next to averaged ones, too large by the number of
 * replicas. Take batch norm's local gradients, the default, and average them with all
 * others.
 *
 * Cost: 8.05 bytes per element over the transport (MPI_FLOAT has 4, without a defined
 * order and without the same bits); per call 40 bytes for each rank, and per bucket 2
 * more for each rank.
 */
SBN_API int sbn_average_gradients_begin(sbn_data_parallel *parallel, const size_t *counts,
                                        size_t tensors, const sbn_tensors *replicas,
                                        sbn_exchange **exchange);

/*
 * Rules of exchanges.
 *
 * All ranks begin the same exchanges in the same order, at most SBN_MAX_PASSES under way;
 * they may be ended in any order, if it is the same on all ranks. Calls that wait
 * (sbn_exchange_end, sbn_pass_end and those that include them) are made in the same order
 * on all ranks, too. What was passed in (arrays, tensors, wait lists) must stay, and the
 * tensors must not be used, until end has returned.
 *
 * If begin fails there is no exchange, and in a group of several ranks the others have been
 * told, as for a pass. Before the ranks have agreed an error changes nothing:
 * SBN_INVALID_ARGUMENT and the like on this rank; SBN_REMOTE_ERROR, or SBN_DISAGREEMENT
 * (other tensors, sizes, root, bucket_bytes or another call), with the ranks named, on
 * all ranks. A device that fails later is named on all ranks too; the tensors are
 * undefined then, some exchanged and some not. The next exchange may succeed in either
 * case, unless results could not be written to a device: then it fails on this rank and,
 * named, on all others. After SBN_TIMEOUT, SBN_TRANSPORT_ERROR and SBN_ABORTED the
 * sbn_data_parallel takes no more exchanges.
 */

/*
 * Moves all exchanges on as far as possible. Never blocks on other ranks or on devices,
 * but converts floats to integers and back, at some 3 ns per element.
 *
 * Sets *ready (may be NULL) to 1 when sbn_exchange_end of this exchange will not wait.
 * Exchanges make progress only within the calls of this header. Errors are kept for end.
 * Do not wait by calling this until ready: only end observes the timeout.
 */
SBN_API int sbn_exchange_progress(sbn_exchange *exchange, int *ready);

/*
 * Ends an exchange. Blocks until the sums of all ranks are here, at most for the group's
 * timeout after the last progress; then enqueues the last copies to the devices and
 * returns without waiting for them. The exchange ends whatever this returns.
 */
SBN_API int sbn_exchange_end(sbn_exchange *exchange);

/* A broadcast at once: sbn_broadcast_begin and sbn_exchange_end. Blocks as the latter does. */
SBN_API int sbn_broadcast(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                          size_t root, const sbn_tensors *replicas);

/*
 * An averaging at once: sbn_average_gradients_begin and sbn_exchange_end. Blocks as the
 * latter does.
 */
SBN_API int sbn_average_gradients(sbn_data_parallel *parallel, const size_t *counts, size_t tensors,
                                  const sbn_tensors *replicas);

#ifdef __cplusplus
}
#endif

#endif
