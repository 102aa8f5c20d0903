/*
 * syncbn: synchronised batch normalisation on OpenCL devices.
 *
 * A batch is spread over several devices, in one process or in many. syncbn normalises it with the
 * mean and variance of the whole batch. The results have the same bits however the batch is split.
 *
 * The ten calls. A first program needs these, in this order:
 *
 *   sbn_group_create         the replicas that share statistics: one command queue each
 *   sbn_batchnorm_create     a layer: channels, eps, momentum, activation, running statistics
 *   sbn_saved_create         what a forward pass keeps for its backward pass
 *   sbn_forward              y from x, in training
 *   sbn_backward             dx and the gradients of weight and bias from dy
 *   sbn_evaluate             y from x with the running statistics, for inference
 *   sbn_last_error           the sentence that explains a failed call
 *   sbn_saved_destroy        ends what sbn_saved_create made; then the layer, then the group
 *   sbn_batchnorm_destroy
 *   sbn_group_destroy
 *
 * A complete program, with two replicas of two samples each:
 *
 *   #define CL_TARGET_OPENCL_VERSION 120
 *   #include <CL/cl.h>
 *   #include <stdio.h>
 *   #include <stdlib.h>
 *   #include <syncbn.h>
 *
 *   static void check(int status)     // OpenCL's codes and the library's never meet
 *   {
 *       if (status == SBN_SUCCESS)
 *           return;
 *       fprintf(stderr, "%s: %s\n", sbn_strerror(status), sbn_last_error());
 *       exit(1);
 *   }
 *
 *   int main(void)
 *   {
 *       float x[2][2] = {{1, 2}, {3, 6}}, dy[2][2] = {{1, 0}, {0, 0}}, weight = 1, bias = 0;
 *       cl_platform_id platform;
 *       cl_device_id device;
 *       check(clGetPlatformIDs(1, &platform, NULL));
 *       check(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL));
 *       cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, NULL);
 *       cl_command_queue queues[2];
 *       sbn_shard shards[2] = {SBN_SHARD_INIT, SBN_SHARD_INIT};
 *       for (int r = 0; r < 2; ++r) {
 *           cl_mem_flags copy = CL_MEM_COPY_HOST_PTR;
 *           queues[r] = clCreateCommandQueue(context, device, 0, NULL);
 *           shards[r].dims = 2;                                           // (N,C)
 *           shards[r].shape[0] = 2;                                       // samples
 *           shards[r].shape[1] = 1;                                       // channels
 *           shards[r].x.mem = clCreateBuffer(context, copy, sizeof x[r], x[r], NULL);
 *           shards[r].y.mem = clCreateBuffer(context, 0, sizeof x[r], NULL, NULL);
 *           shards[r].dy.mem = clCreateBuffer(context, copy, sizeof dy[r], dy[r], NULL);
 *           shards[r].dx = shards[r].dy;                                  // dx overwrites dy
 *           shards[r].weight.mem = clCreateBuffer(context, copy, sizeof weight, &weight, NULL);
 *           shards[r].bias.mem = clCreateBuffer(context, copy, sizeof bias, &bias, NULL);
 *       }
 *       sbn_group_config group_config = SBN_GROUP_CONFIG_INIT;
 *       sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
 *       sbn_group *group;
 *       sbn_batchnorm *layer;
 *       sbn_saved *saved;
 *       group_config.queues = queues;
 *       group_config.replicas = 2;
 *       config.channels = 1;
 *       check(sbn_group_create(&group_config, &group));
 *       check(sbn_batchnorm_create(group, &config, &layer));
 *       check(sbn_saved_create(layer, &saved));
 *
 *       check(sbn_forward(layer, shards, saved, 0, NULL));                // mean 3, variance 3.5
 *       check(sbn_backward(layer, shards, saved, 0, NULL));
 *       for (int r = 0; r < 2; ++r) {
 *           check(clEnqueueReadBuffer(queues[r], shards[r].dx.mem, CL_TRUE, 0, sizeof dy[r], dy[r],
 *                                     0, NULL, NULL));
 *           printf("dx of replica %d: %g %g\n", r, dy[r][0], dy[r][1]);
 *       }
 *       check(sbn_saved_destroy(saved));
 *       check(sbn_batchnorm_destroy(layer));
 *       check(sbn_group_destroy(group));
 *       return 0;                                                         // OpenCL frees the rest
 *   }
 *
 * The headers, in reading order. The first four are enough for one process:
 *
 *   tensor.h         sbn_shard: where a replica's tensors lie
 *   group.h          groups
 *   batchnorm.h      a layer: settings and running statistics
 *   pass.h           forward, backward, evaluation, recomputation
 *   <syncbn-mpi.h>   groups over the ranks of an MPI job; a library of its own
 *   data_parallel.h  weights broadcast, gradients averaged
 *   sampler.h        samples distributed over replicas
 *   model.h          the named layers of a network, handled together
 *   checkpoint.h     parameters and statistics in safetensors files
 *   fold.h           batch norm folded into the layer before it, for inference
 *   error.h          status codes and sentences
 *   transport.h      the in-memory transport, and how to write your own
 *
 * Terms. A replica is a copy of the network on one command queue. A rank is a process or thread
 * that drives 0 or more replicas; ranks count from 0. A group is the replicas, of one or more
 * ranks, that share statistics. A shard is the part of the batch that one replica holds. A pass is
 * a forward, backward, evaluation or recomputation of one or several layers over all their shards.
 * doc/glossary.md has more.
 *
 * Results. A function that can fail returns an int: SBN_SUCCESS (0) or a negative status. After a
 * failure sbn_last_error() has a sentence. Nothing is ever printed. A function that returns a
 * property (sbn_group_rank, sbn_model_size) returns 0 or NULL for a handle that is not valid.
 * Strings that you pass are copied; strings that you get belong to the library.
 *
 * Objects. Destroy in the reverse order of creation: saved statistics, then layers, then the group.
 * sbn_*_destroy accepts NULL. While something else still needs an object, sbn_*_destroy returns
 * SBN_INVALID_ARGUMENT and the object stays: the sentence says what needs it. In C++, declare the
 * group before the layer and the layer before its saved statistics: destructors run in reverse
 * order, and a deleter cannot report that status. Using an object that has been destroyed is
 * SBN_INVALID_ARGUMENT, unless a new one has been allocated in the same place. A hub and an sbn_mpi
 * do not know their groups: nothing checks that they are destroyed last, once, and not used then.
 *
 * Structs. Each struct that you fill begins with `size`, your sizeof (except sbn_buffer). Start
 * from its INIT macro, which has the defaults:
 *
 *   sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;      // a variable
 *   shards[i] = (sbn_shard)SBN_SHARD_INIT;                        // an element of an array, in C
 *   sbn_shard_init(&shards[i], sizeof shards[i]);                 // the same, in any language
 *
 * Fields that you do not set are zero, and zero is not always the default:
 * {.size = sizeof config, .channels = 64} means eps 0, momentum 0, not affine and no running
 * statistics, which sbn_batchnorm_create refuses. In an array all elements have the size of the
 * first one.
 *
 * Threads. One thread at a time may use a group and what is made from it; different groups may be
 * used at the same time. Any thread may call sbn_group_abort while the group exists. Any thread may
 * call sbn_version, sbn_strerror, sbn_status_name, sbn_last_error, sbn_set_last_error,
 * sbn_device_check, sbn_device_memory, sbn_host_queue, sbn_*_init, sbn_sampler_* and
 * sbn_hub_transport at any time. The library has no threads of its own.
 *
 *
 * Advanced.
 *
 * Versions. Later versions of the library only append fields to structs, and zero means off in each
 * new one, so a program may be compiled with another version than it runs with. Fields that a
 * smaller struct lacks count as zero. A larger struct is SBN_INVALID_ARGUMENT unless the rest is
 * zero and its size a multiple of sizeof(size_t), at most 4096. A struct that the library fills is
 * written up to your size, with zeros beyond the fields that the library knows.
 *
 * Callbacks must return: neither longjmp nor a C++ exception may leave them. A callback must not
 * change or destroy an object that the function which calls it was given. A thread must not be
 * cancelled (pthread_cancel) within a call.
 *
 * Fork. OpenCL drivers have threads, which a child process does not have. A child of a process that
 * has called OpenCL or the library may call only sbn_version, sbn_strerror, sbn_status_name,
 * sbn_last_error, sbn_set_last_error, sbn_*_init and sbn_sampler_*, until it runs another program.
 * A process that forks first may use the library in the parent and in the children. The library's
 * files are not open in a program that a child runs (O_CLOEXEC).
 *
 * Signals. A signal handler may call no function: let a thread wait for the signal, and call
 * sbn_group_abort there. A handler may interrupt any call, which then goes on. The library installs
 * no handlers, changes no masks and raises no signals. (Drivers and MPI may.)
 *
 * OpenCL. These headers neither include <CL/cl.h> nor define CL_TARGET_OPENCL_VERSION: see
 * <syncbn/tensor.h>.
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
