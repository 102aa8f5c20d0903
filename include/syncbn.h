/*
 * syncbn: synchronised batch normalisation over any OpenCL devices.
 *
 * A batch spread over several devices, in one process or in many, is
 * normalised as if it lay on one: the same mean and variance everywhere,
 * bit for bit the same however the batch is split.
 *
 * The order in which a program meets these headers:
 *
 *   error.h      status codes and the sentence behind a failure
 *   transport.h  how the processes or threads of a group add words; optional
 *   group.h      who shares statistics: command queues and a transport
 *   batchnorm.h  a layer: settings and running statistics
 *   pass.h       forward, backward, evaluation, recomputation
 *   fold.h       batch norm folded into the layer before it, for inference
 *   model.h      the named layers of a network, together
 *   checkpoint.h their parameters and statistics in safetensors files
 *   parallel.h   weights broadcast, gradients averaged, samples dealt out
 *
 * and, for groups over the ranks of an MPI job, <syncbn-mpi.h>.
 *
 * Every function that can fail returns an int, SBN_SUCCESS (0) or a negative
 * status. Nothing is ever printed. Strings handed in are copied; strings
 * handed out belong to the library.
 *
 * Objects made by sbn_*_create are ended by sbn_*_destroy, which accepts NULL.
 * What another object or a pass under way still needs is not destroyed: the call
 * returns SBN_INVALID_ARGUMENT with a sentence that says what it is, and the
 * object stays as it was. A group, layer, saved statistics, pass, model,
 * checkpoint, sbn_parallel or exchange that is destroyed or ended is known as
 * such: using its handle is SBN_INVALID_ARGUMENT, unless a new object has come
 * to lie in the same place.
 *
 * Threads: a group, its layers, saved statistics and passes belong to one
 * thread at a time. Different groups may be used by different threads at once.
 */
#ifndef SYNCBN_H
#define SYNCBN_H

#include <syncbn/error.h>
#include <syncbn/transport.h>
#include <syncbn/group.h>
#include <syncbn/batchnorm.h>
#include <syncbn/pass.h>
#include <syncbn/fold.h>
#include <syncbn/model.h>
#include <syncbn/checkpoint.h>
#include <syncbn/parallel.h>

#endif
