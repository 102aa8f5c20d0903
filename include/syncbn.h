/*
 * syncbn: synchronised batch normalisation over any OpenCL devices.
 *
 * A batch that is spread over several devices, in one process or in many, is
 * normalised as if it lay on one device: mean and variance are those of the whole
 * batch, and the results are the same bit for bit however the batch is split.
 *
 * Glossary.
 *   replica     a copy of the network on one command queue of one device
 *   rank        a process or thread that drives 0 or more replicas; ranks count from 0
 *   group       the replicas, of one or more ranks, that share batch statistics
 *   shard       the part of the batch that one replica holds
 *   transport   what adds integers over the ranks of a group: MPI, threads, or yours
 *   pass        one forward or backward computation of a layer over all its shards
 *   to combine  to add the replicas' sums over the whole group (an all-reduce)
 *   saved statistics    what a forward pass keeps for its backward pass
 *   running statistics  the layer's averages over the batches seen, for evaluation
 *   exchange    a broadcast of weights or an averaging of gradients over all replicas
 *
 * The headers, in the order in which to read them:
 *
 *   error.h          status codes, and the sentence that explains a failure
 *   tensor.h         how tensors are described
 *   group.h          groups
 *   batchnorm.h      a layer: settings and running statistics
 *   pass.h           forward, backward, evaluation, recomputation
 *   fold.h           batch norm folded into the layer before it, for inference
 *   model.h          the named layers of a network, handled together
 *   checkpoint.h     parameters and statistics in safetensors files
 *   data_parallel.h  weights broadcast, gradients averaged
 *   sampler.h        samples distributed over replicas
 *   <syncbn-mpi.h>   groups over the ranks of an MPI job; a library of its own
 *   transport.h      the in-memory transport, and how to write your own
 *
 * Conventions.
 *
 * Results. A function that can fail returns an int: SBN_SUCCESS (0) or a negative
 * status, and leaves a sentence in sbn_last_error(). Nothing is ever printed. A
 * function that returns a property (sbn_group_rank, sbn_model_size) returns 0 or
 * NULL for a handle that is not valid. Strings passed in are copied; strings
 * returned belong to the library.
 *
 * Objects. What sbn_*_create or sbn_group_split makes is ended by sbn_*_destroy,
 * which accepts NULL. An object that another one or a pass under way still needs is
 * not destroyed: the call returns SBN_INVALID_ARGUMENT with a sentence that says what
 * needs it, and the object stays as it was. The library knows which groups, layers,
 * saved statistics, passes, models, checkpoints, sbn_data_parallels and exchanges
 * exist: using one that has been destroyed or ended is SBN_INVALID_ARGUMENT, unless a
 * new object has been allocated in the same place.
 *
 * Structs. Each struct that a caller fills, except sbn_buffer, begins with `size`,
 * the caller's sizeof. Start from the struct's _INIT macro; where the defaults are
 * not zeros, and for sbn_shard, a function sbn_*_init(struct, size) does the same for
 * elements of arrays and for bindings from other languages. A struct of which only
 * `size` and some fields are set has zeros in the others, and not the defaults: a
 * sbn_batchnorm_config then has eps 0 and momentum 0, and no weight and bias. Later
 * versions of the library only append fields, and zero means off in each of them. So a
 * library accepts structs of programs that were compiled with another version: fields
 * that a smaller struct lacks count as zero; a larger one is accepted if it holds zeros
 * beyond the fields that the library knows, and its size is a multiple of
 * sizeof(size_t) and at most 4096, else SBN_INVALID_ARGUMENT. A struct that the library fills is written up to the
 * caller's size, with zeros beyond the fields that the library knows. In an array
 * all elements have the size of the first one, at which distance they follow each
 * other.
 *
 * Threads. A group and all that is made from it (layers, saved statistics, passes,
 * models, exchanges) may be used by one thread at a time; different groups by
 * different threads at the same time. Any thread may call at any time:
 * sbn_group_abort while the group exists; sbn_last_error and sbn_set_last_error,
 * which are the calling thread's own; and sbn_version, sbn_strerror,
 * sbn_device_check, sbn_device_memory, sbn_*_init and sbn_sampler_*. Of a hub,
 * sbn_hub_transport may be called by several threads at the same time. The library
 * has no threads of its own. A thread must not be cancelled (pthread_cancel) within a
 * call, and a callback must return: no longjmp and no C++ exception may leave it.
 *
 * Fork. Once a process has called OpenCL or the library, its children (fork) may call
 * only sbn_version, sbn_strerror, sbn_status_name, sbn_last_error, sbn_set_last_error,
 * sbn_*_init and sbn_sampler_*, which take no locks, until they run another program:
 * OpenCL drivers have threads, which a child does not have. A process that forks first
 * may use the library in the parent and in the children. The library's files are not
 * open in a program that a child runs (O_CLOEXEC).
 *
 * Signals. No function may be called by a signal handler, sbn_group_abort included: let
 * a thread wait for the signal, and call it. A handler may interrupt any call; reading,
 * writing and waiting go on afterwards. The library installs no handlers, changes no
 * masks, and raises no signals. (Drivers and MPI may.)
 *
 * OpenCL. These headers neither include <CL/cl.h> nor define
 * CL_TARGET_OPENCL_VERSION: see <syncbn/tensor.h>.
 */
#ifndef SYNCBN_H
#define SYNCBN_H

#include <syncbn/error.h>
#include <syncbn/tensor.h>
#include <syncbn/group.h>
#include <syncbn/batchnorm.h>
#include <syncbn/pass.h>
#include <syncbn/fold.h>
#include <syncbn/model.h>
#include <syncbn/checkpoint.h>
#include <syncbn/data_parallel.h>
#include <syncbn/sampler.h>
#include <syncbn/transport.h>

#endif
