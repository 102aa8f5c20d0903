/*
 * What data-parallel training needs around batch norm: the same weights on all
 * replicas at the start (sbn_broadcast), the mean of their gradients after each
 * backward pass (sbn_average_gradients), and for each replica its own part of
 * the data (sbn_sampler). With any transport that can be split, and within one
 * process.
 *
 *   sbn_parallel_create(group, NULL, &parallel);
 *   sbn_broadcast(parallel, counts, tensors, 0, weights);
 *   for each step
 *       ... forward, backward ...
 *       sbn_average_gradients(parallel, counts, tensors, gradients);
 *       ... update the weights ...
 */
#ifndef SYNCBN_PARALLEL_H
#define SYNCBN_PARALLEL_H

#include <syncbn/pass.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sbn_parallel sbn_parallel;

typedef struct sbn_parallel_config {
    size_t size;         /* sizeof(sbn_parallel_config) */
    size_t bucket_bytes; /* of one replica's tensors that travel together; 4096 ... 2^30 */
} sbn_parallel_config;

/* Buckets of 4 MiB. */
#define SBN_PARALLEL_CONFIG_INIT \
    { \
        sizeof(sbn_parallel_config), (size_t)4 << 20 \
    }

/*
 * Makes what joins the replicas of a group for the calls below, with requests
 * of its own (over MPI: communicators of its own), so that they meet none of
 * batch norm's: passes of the group and exchanges may be under way side by
 * side. Every rank of the group calls this as it calls sbn_group_split, with
 * the same configuration (NULL: the default), and with the same errors. A
 * rank without replicas takes no further part: its calls return at once.
 *
 * The group must outlive it. It belongs to one thread at a time, the group's.
 * Its timeout is the group's; after one it is dead, whatever the group's
 * on_timeout says: there is no average of some gradients. (A job over MPI then
 * ends as <syncbn-mpi.h> says.)
 *
 * Memory. Three buckets are on their way at a time. A bucket of n floats takes
 * 4 n bytes of host memory for each replica of this process, and 8 n once, but
 * for broadcasts within a process; kept from call to call, and no more than the
 * largest call needed.
 *
 * Errors: those of sbn_group_split; SBN_INVALID_ARGUMENT also for more than
 * 65535 replicas; *parallel is then NULL. One rank's wrong configuration is
 * SBN_REMOTE_ERROR on the others.
 */
SBN_API int sbn_parallel_create(sbn_group *group, const sbn_parallel_config *config,
                                sbn_parallel **parallel);

/*
 * Waits for copies that are still running. SBN_INVALID_ARGUMENT, and it stays,
 * while exchanges are under way.
 */
SBN_API int sbn_parallel_destroy(sbn_parallel *parallel);

/*
 * Replicas over all ranks, and the number among them, from 0 on, of this
 * rank's first: ranks in the order of their ranks, replicas in the order of
 * the group's queues. Both 0 on a rank without replicas, or for another handle.
 */
SBN_API size_t sbn_parallel_replicas(const sbn_parallel *parallel);
SBN_API size_t sbn_parallel_first(const sbn_parallel *parallel);

/*
 * One replica's tensors, float32. How many there are and how many elements each
 * has is the same on all replicas. Tensors that are written must not overlap.
 *
 * Events: as in sbn_shard. The copies run on a queue of the library's own and
 * wait for what the caller's queue holds, or on an out-of-order queue for the
 * wait list, when the exchange begins, and for nothing after: kernels enqueued
 * later run beside them. Commands enqueued after the exchange's end find the
 * tensors exchanged.
 */
typedef struct sbn_tensors {
    const sbn_buffer *buffers; /* one per tensor; those of no elements may be zero */
    cl_uint num_wait;
    const cl_event *wait_list;
    cl_event *event; /* or NULL */
} sbn_tensors;

/* An exchange under way: a broadcast or an averaging. */
typedef struct sbn_exchange sbn_exchange;

/*
 * Broadcast: the tensors of replica `root`, numbered as by sbn_parallel_first,
 * are copied to all other replicas, bit for bit. `counts` has the elements of
 * each of the `tensors` tensors; `replicas` is an array with one entry for each
 * replica of this process.
 *
 * On the wire: 4 bytes per element (two elements in a word, to which all other
 * ranks add 0).
 */
SBN_API int sbn_broadcast_begin(sbn_parallel *parallel, const size_t *counts, size_t tensors,
                                size_t root, const sbn_tensors *replicas, sbn_exchange **exchange);

/*
 * Averaging: each element becomes its mean over all replicas, the same bits on
 * all of them, however they are spread over devices, processes and hosts, and
 * whatever the size of buckets.
 *
 * How. A tensor is cut into blocks of 1024 elements. For each block the ranks
 * agree on a power of two above the largest magnitude that any replica has in
 * it, then add integers: each element over that power, in 50 bits.
 *
 * Error. Let M be the largest magnitude of a block over all replicas. The mean
 * differs from the exact one by at most 2^-43 M (or 2^-170), and half a unit in
 * the last place of the float that it is rounded to: as good as adding in
 * float32 down to elements a millionth of M, and no worse for more replicas (but
 * from 4097 on 2^-43 doubles with each doubling of their number). No sum
 * overflows.
 *
 * NaN and Inf pass through: a mean is NaN where a replica has NaN, or Inf of
 * both signs, and Inf where it has Inf. Finite elements in the block of such a
 * one have an error of at most 2^(-54 + 3 k) M where that is more, replicas
 * being fewer than 2^k: 2^-42 M for up to 15, 2^-33 M for up to 127. Means of
 * zeros are +0. A single replica's gradients are left as they are.
 *
 * What to leave out: gradients that are the group's sums already
 * (SBN_GLOBAL_GRADIENTS). They are the same on all replicas, and as many times
 * too large beside averaged ones as there are replicas. Take batch norm's local
 * gradients, the default, and average them with all others.
 *
 * On the wire: 8.05 bytes per element (MPI_FLOAT has 4, and neither the order
 * nor the bits); per call 40 bytes for each rank, per bucket 2 more.
 */
SBN_API int sbn_average_gradients_begin(sbn_parallel *parallel, const size_t *counts,
                                        size_t tensors, const sbn_tensors *replicas,
                                        sbn_exchange **exchange);

/*
 * All ranks begin the same exchanges in the same order, not more than
 * SBN_MAX_PASSES at once; they may be ended in any order, if it is the same on
 * all ranks. Calls that wait (sbn_exchange_end, sbn_pass_end and those made
 * of them) come in one order, too. What was handed in (arrays, tensors, wait
 * lists) must stay, and the tensors be left alone, until end has returned.
 *
 * If begin fails there is no exchange; in a group of several ranks it has
 * waited for the others to tell them, as a pass does. Before the ranks have
 * agreed an error changes nothing: SBN_INVALID_ARGUMENT and the like here,
 * SBN_REMOTE_ERROR or SBN_DISAGREEMENT (other tensors, sizes, root, bucket_bytes
 * or another call) with the ranks named on all ranks. A device that fails
 * later is named on all ranks too, and leaves the tensors undefined, some of
 * them exchanged and some not. Either way the next exchange may succeed, unless
 * results could not be written to a device: then it fails, here and, named, on
 * all others. SBN_TIMEOUT and SBN_TRANSPORT_ERROR end the sbn_parallel.
 */

/*
 * Moves all exchanges on as far as it goes without blocking, and sets *ready
 * (may be NULL) to 1 when end will not wait. They move within the calls of this
 * header only, and the conversion to integers and back, some 3 ns per element,
 * runs there. Errors are kept for end, which alone knows the timeout.
 */
SBN_API int sbn_exchange_progress(sbn_exchange *exchange, int *ready);

/* Waits until all is enqueued, and releases the exchange, whatever it returns. */
SBN_API int sbn_exchange_end(sbn_exchange *exchange);

/* begin and end in a row. */
SBN_API int sbn_broadcast(sbn_parallel *parallel, const size_t *counts, size_t tensors, size_t root,
                          const sbn_tensors *replicas);
SBN_API int sbn_average_gradients(sbn_parallel *parallel, const size_t *counts, size_t tensors,
                                  const sbn_tensors *replicas);

/*
 * Which samples a replica takes, in which order: PyTorch's DistributedSampler.
 * The samples, shuffled anew for each epoch or in their order, are dealt out in
 * turn: place p of the order is replica p % replicas' sample p / replicas.
 * Where they cannot be dealt out evenly, the order is repeated from its start
 * until they can, or, with drop_last, its end is left out. So all replicas have
 * as many samples: ceil(samples / replicas), or with drop_last the floor. Without
 * repetition no two replicas share a sample.
 *
 * The order is a permutation computed from seed, epoch and place alone, by
 * integers: the same on every machine, without memory for a list. (It is not
 * PyTorch's order.) A value to be filled, copied and changed freely: `epoch` is
 * set before each epoch.
 */
typedef struct sbn_sampler {
    size_t size;       /* sizeof(sbn_sampler) */
    uint64_t samples;  /* in the whole data set; at most 2^62 */
    uint64_t replicas; /* 1 ... 2^32 */
    uint64_t replica;  /* this one's number, below `replicas` */
    uint64_t seed;     /* the same on all replicas */
    uint64_t epoch;
    int shuffle; /* 0: in order */
    int drop_last;
} sbn_sampler;

/* Shuffled, padded, one replica; set `samples`, `replicas` and `replica`. */
#define SBN_SAMPLER_INIT \
    { \
        sizeof(sbn_sampler), 0, 1, 0, 0, 0, 1, 0 \
    }

/* How many samples this replica has in an epoch. */
SBN_API int sbn_sampler_length(const sbn_sampler *sampler, uint64_t *length);

/*
 * The numbers of `count` of this replica's samples, from its `first`-th on: a
 * batch. first + count must not be above the length.
 */
SBN_API int sbn_sampler_take(const sbn_sampler *sampler, uint64_t first, size_t count,
                             uint64_t *samples);

#ifdef __cplusplus
}
#endif

#endif
