/*
 * A group: the replicas that share statistics. This process contributes any
 * number of replicas, one command queue each (any devices of any platforms;
 * several replicas may share a device or a queue), and a transport joins them
 * with those of other processes or threads.
 */
#ifndef SYNCBN_GROUP_H
#define SYNCBN_GROUP_H

#ifndef CL_TARGET_OPENCL_VERSION
#define CL_TARGET_OPENCL_VERSION 120
#endif
#ifdef __APPLE__
#include <OpenCL/opencl.h>
#else
#include <CL/cl.h>
#endif

#include <syncbn/error.h>
#include <syncbn/transport.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Of the order in which sums are made (doc/order.md). Where it is the same, so are the bits of every
 * result, on any devices; all ranks of a group must have the same.
 */
#define SBN_ORDER_VERSION 1

/* Of a group in one process, and of an sbn_parallel in all of them. */
#define SBN_MAX_REPLICAS 65535

typedef struct sbn_group sbn_group;

typedef enum sbn_timeout_action {
    SBN_TIMEOUT_FAIL = 0, /* the pass fails with SBN_TIMEOUT and the group is dead */
    SBN_TIMEOUT_LOCAL = 1 /* this pass and all later ones use this rank's own statistics;
                             each sbn_result says so in `synchronised` */
} sbn_timeout_action;

/* Which form of the kernels a replica runs; both give the same bits. */
typedef enum sbn_kernel_form {
    SBN_FORM_AUTO = 0, /* CPU form on CPUs whose compiler has vectors, else GPU form */
    SBN_FORM_CPU = 1,  /* one work-item per group, explicit vectors */
    SBN_FORM_GPU = 2   /* work-groups with local memory */
} sbn_kernel_form;

typedef struct sbn_group_config {
    size_t size;                    /* sizeof(sbn_group_config) */
    const cl_command_queue *queues; /* one per replica; retained by the group */
    size_t replicas;                /* at most SBN_MAX_REPLICAS; may be 0 with a transport: this
                                       rank only takes part */
    const sbn_transport *transport; /* NULL: this process alone; the table is copied */
    double timeout;                 /* seconds to wait for other ranks, > 0 */
    sbn_timeout_action on_timeout;
    sbn_kernel_form form;
    /*
     * Added to the OpenCL compiler's options; NULL: none. For experiments: with
     * "-cl-denorms-are-zero" bits may differ where the standard deviation of a
     * channel's x or dy is below 2^-48.
     */
    const char *build_options;
    /*
     * The folder where compiled programs are kept, so that later processes need not compile; made
     * if it is not there, read and written only if it is this user's and nobody else may write to
     * it. NULL: $XDG_CACHE_HOME/syncbn, or ~/.cache/syncbn, and not for CPUs, whose drivers keep
     * more than can be kept here. "": none. Whatever is wrong with it is no error. What is in it
     * may be removed at any time.
     */
    const char *program_cache;
} sbn_group_config;

/* Always start from this: fields may be added at the end. */
#define SBN_GROUP_CONFIG_INIT \
    { \
        sizeof(sbn_group_config), NULL, 0, NULL, 300.0, SBN_TIMEOUT_FAIL, SBN_FORM_AUTO, NULL, \
            NULL \
    }

/*
 * Makes a group and compiles its kernels, once per device, context, form and
 * build_options: groups share them, and the last one to go releases them. It
 * does not communicate. Errors: SBN_INVALID_ARGUMENT, SBN_UNSUPPORTED_DEVICE,
 * SBN_OUT_OF_MEMORY, OpenCL's codes; *group is then NULL.
 */
SBN_API int sbn_group_create(const sbn_group_config *config, sbn_group **group);

/*
 * Ends a group: at once, for a transport may end with it, which its other
 * ranks wait for. So a group with passes under way or layers in it is refused
 * (SBN_INVALID_ARGUMENT) and stays as it was: end its passes, destroy its saved
 * statistics and layers in that order, or move the layers to another group.
 * Waits for commands of the group still running on its queues. A group that
 * timed out leaves the words of its unfinished requests allocated.
 */
SBN_API int sbn_group_destroy(sbn_group *group);

/* The colour of a replica that joins no part. */
#define SBN_NO_COLOUR (-1)

/*
 * Splits a group into smaller ones. `colours` has a colour from 0 on, or
 * SBN_NO_COLOUR, for each replica of this process; all replicas of one colour,
 * in whichever process, become a group, in the order in which they are here.
 * parts[r] receives replica r's group, or NULL: replicas of this process with
 * one colour shard a handle, which is destroyed once. A rank's rank in a
 * part is its place among the part's ranks.
 *
 * The group itself goes on as before, and all may be used side by side: each
 * has requests of its own. Queues are shared, settings taken over. A part is
 * destroyed by all its ranks, before the group is.
 *
 * Every rank of the group calls this as it calls a pass, with no pass of the
 * group under way; a rank without replicas too (`colours` and `parts` may
 * then be NULL). Errors as for passes, with nothing made on any rank; a
 * transport without `split` is SBN_INVALID_ARGUMENT.
 */
SBN_API int sbn_group_split(sbn_group *group, const int *colours, sbn_group **parts);

/* Replicas of this process, this rank's rank, and ranks in all (1 without a transport). */
SBN_API size_t sbn_group_replicas(const sbn_group *group);
SBN_API int sbn_group_rank(const sbn_group *group);
SBN_API int sbn_group_world_size(const sbn_group *group);

/*
 * Can this device run the kernels? SBN_SUCCESS, or SBN_UNSUPPORTED_DEVICE with
 * the reason as a sentence in sbn_last_error(). It looks at what the device
 * reports and compiles nothing.
 */
SBN_API int sbn_device_check(cl_device_id device);

/*
 * Bytes of device memory that the library holds now: working memory and tables of all groups,
 * layers and saved statistics of the process, on all devices. Tensors are the caller's and do not
 * count. A group keeps its working memory from pass to pass.
 */
SBN_API size_t sbn_device_memory(void);

#ifdef __cplusplus
}
#endif

#endif
