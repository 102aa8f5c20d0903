/*
 * A group: the replicas that share statistics. A process contributes any number
 * of replicas, one command queue each. The queues may belong to any devices of any
 * platforms; several replicas may share a device or a queue. A transport joins the
 * replicas of this process with those of other processes or threads.
 */
#ifndef SYNCBN_GROUP_H
#define SYNCBN_GROUP_H

#include <syncbn/error.h>
#include <syncbn/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbn_transport;

/*
 * The version of the order of summation (doc/order.md). The same version gives the
 * same bits of every result, on any devices; all ranks of a group must have the
 * same.
 */
#define SBN_ORDER_VERSION 2

/* How many replicas a group may have in one process, and an sbn_data_parallel in all of them. */
#define SBN_MAX_REPLICAS 65535

typedef struct sbn_group sbn_group;

/*
 * What a call does when other ranks have not answered within the timeout. The time begins when the
 * call starts to wait, and again whenever a sum over the ranks completes and after each wait for
 * this rank's own devices; so in passes, in sbn_group_split and in exchanges of tensors.
 *
 * A rank that comes to a pass that other ranks have given up is told at once: SBN_REMOTE_ERROR
 * names the ranks that reported SBN_TIMEOUT, and its group has failed too; with SBN_TIMEOUT_LOCAL it
 * goes on alone. A rank whose other ranks had agreed on the pass, and timed out when they waited for
 * its sums, succeeds instead, and learns in its next call by a timeout of its own.
 */
typedef enum sbn_timeout_action {
    SBN_TIMEOUT_FAIL = 0, /* it fails with SBN_TIMEOUT, and the group with it */
    SBN_TIMEOUT_LOCAL = 1 /* it and all later passes use this rank's own statistics;
                             sbn_result says so in `synchronised`. A split gives groups that are
                             alone in the same way; tensors are not exchanged any more. */
} sbn_timeout_action;

/* Which form of the kernels a replica runs. Both give the same bits. */
typedef enum sbn_kernel_form {
    SBN_FORM_AUTO = 0, /* the CPU form on CPUs whose compiler has vectors, else the GPU form */
    SBN_FORM_CPU = 1,  /* one work-item per work-group, explicit vectors */
    SBN_FORM_GPU = 2   /* work-groups with local memory */
} sbn_kernel_form;

/* The settings of a group. */
typedef struct sbn_group_config {
    size_t size; /* sizeof(sbn_group_config) */
    /* A const cl_command_queue *: one queue per replica, retained by the group. */
    struct _cl_command_queue *const *queues;
    size_t replicas; /* at most SBN_MAX_REPLICAS; may be 0 with a transport: the rank only
                        takes part in combining */
    /* From <syncbn/transport.h> or <syncbn-mpi.h>; copied. NULL: this process alone. */
    const struct sbn_transport *transport;
    double timeout; /* how long to wait for other ranks, in seconds, > 0 */
    sbn_timeout_action on_timeout;
    sbn_kernel_form form;
    /*
     * Added to the OpenCL compiler's options; copied; NULL: none. For experiments:
     * with "-cl-denorms-are-zero" bits may differ where the standard deviation of a
     * channel's x or dy is below 2^-48. Options that relax arithmetic, such as
     * "-cl-fast-relaxed-math" and "-cl-mad-enable", are SBN_INVALID_ARGUMENT.
     * Options are separated by spaces; quotes do not hold words together.
     * "-cl-nv-maxrregcount=N" replaces the library's own limit for NVIDIA's compiler.
     * On Intel's GPUs a tensor's buffer larger than CL_DEVICE_MAX_MEM_ALLOC_SIZE is
     * SBN_INVALID_ARGUMENT without "-cl-intel-greater-than-4GB-buffer-required", which
     * costs speed. Options that the compiler does not take are SBN_INVALID_ARGUMENT.
     */
    const char *build_options;
    /*
     * The folder that keeps compiled programs, so that later processes need not
     * compile them. It is made if it does not exist, and used only if it is this
     * user's and nobody else may write to it. NULL: $XDG_CACHE_HOME/syncbn, or
     * ~/.cache/syncbn; none for CPUs, because their drivers keep more than can be kept
     * here, and none in a program that runs with another user's rights (set-user-ID),
     * because its environment is not trusted. "": none. A folder that cannot be used
     * is no error. Its files may be removed at any time. Numbers that `syncbn tune` has
     * found for a device are kept there too, for CPUs as well; the environment variable
     * SYNCBN_TUNING replaces them (doc/performance.md). Bits do not depend on them.
     */
    const char *program_cache;
} sbn_group_config;

/* A timeout of 300 seconds, and zeros. Set `queues` and `replicas`. */
#define SBN_GROUP_CONFIG_INIT \
    { \
        sizeof(sbn_group_config), NULL, 0, NULL, 300.0, SBN_TIMEOUT_FAIL, SBN_FORM_AUTO, NULL, \
            NULL \
    }

/* Writes SBN_GROUP_CONFIG_INIT to a struct of `size` bytes. */
SBN_API int sbn_group_config_init(sbn_group_config *config, size_t size);

/*
 * Makes a group and compiles its kernels, once per device, context, form and
 * build_options: groups share them, and the last of these groups releases them. Does
 * not communicate with other ranks. If kernels are compiled, and not read from the
 * cache, a self-test of the device's arithmetic runs first; a device that breaks
 * one of its rules is SBN_UNSUPPORTED_DEVICE, with a sentence that names the
 * rule. Errors: SBN_INVALID_ARGUMENT, SBN_UNSUPPORTED_DEVICE, SBN_OUT_OF_MEMORY,
 * OpenCL's codes; *group is then NULL.
 */
SBN_API int sbn_group_create(const sbn_group_config *config, sbn_group **group);

/*
 * Ends a group. Waits for the group's commands that still run on its queues.
 *
 * SBN_INVALID_ARGUMENT, and the group stays as it was, while passes of it are under way
 * and while layers or an sbn_data_parallel belong to it: end its passes, destroy its
 * saved statistics and layers in this order, or move the layers to another group. A
 * group that timed out or was aborted leaves the memory of its unfinished requests
 * allocated. A group that sbn_group_split made is ended by the last of its handles; the
 * calls for the others succeed, whatever belongs to it.
 */
SBN_API int sbn_group_destroy(sbn_group *group);

/* The colour of a replica that joins no group. */
#define SBN_NO_COLOUR (-1)

/*
 * Splits a group into smaller ones. Blocks until all ranks of the group have called
 * it, at most for the group's timeout.
 *
 * `colours` has one number for each replica of this process: a colour from 0 on, or
 * SBN_NO_COLOUR. All replicas of one colour, in whichever process, become a group.
 * Replicas and ranks keep their order: a rank's number in the new group is its place
 * among the ranks that have the colour.
 *
 * groups[r] receives a handle of replica r's group, or NULL for SBN_NO_COLOUR.
 * Replicas of this process with the same colour receive the same handle, and each
 * counts as a reference of its own: call sbn_group_destroy for each of groups[0],
 * groups[1], ... The last call for a group ends it. All its ranks end it, before the
 * group that was split is ended.
 *
 * The group that was split stays usable, side by side with the new ones; each has
 * requests of its own. The new groups use the same queues, kernels and settings.
 *
 * Every rank of the group calls this in its turn among the passes, with no pass of
 * the group under way; also a rank without replicas, whose `colours` and `groups` may
 * be NULL. Errors are those of a pass, and nothing is made on any rank then; a
 * transport without `split` is SBN_INVALID_ARGUMENT.
 */
SBN_API int sbn_group_split(sbn_group *group, const int *colours, sbn_group **groups);

/* How many replicas of the group this process has. */
SBN_API size_t sbn_group_replicas(const sbn_group *group);

/* This rank's number, 0 without a transport. */
SBN_API int sbn_group_rank(const sbn_group *group);

/* How many ranks the group has, 1 without a transport. */
SBN_API int sbn_group_world_size(const sbn_group *group);

/*
 * Does the group take passes? SBN_SUCCESS if it does; else the status that ended it:
 * SBN_TIMEOUT, SBN_TRANSPORT_ERROR, SBN_ABORTED, or the code of a device that failed.
 * SBN_INVALID_ARGUMENT if `group` is not a group.
 *
 * *reason (`reason` may be NULL) receives the sentence of that failure, empty while
 * there is none. It belongs to the group and is valid until the group ends. With
 * SBN_TIMEOUT_LOCAL a group that timed out still takes passes: the status is
 * SBN_SUCCESS and the sentence is that of the timeout.
 */
SBN_API int sbn_group_status(const sbn_group *group, const char **reason);

/*
 * Ends a group from any thread, for example a watchdog's, while its own thread may be
 * waiting in it. Does not block. The group must exist until the call has returned.
 *
 * On this rank a call that waits for other ranks (sbn_pass_end, sbn_forward,
 * sbn_group_split, sbn_data_parallel_create, sbn_exchange_end and the like) stops waiting,
 * whatever on_timeout is. It fails with SBN_ABORTED, and so do the other passes under
 * way that wait; the sentence names the call and the ranks that had not come, which some
 * transports take up to a second to find out. If no call waits, the next one finds the
 * group ended. Passes, splits and exchanges that begin afterwards fail with
 * SBN_GROUP_FAILED. Evaluation with running statistics and recomputation still work.
 *
 * An sbn_data_parallel of the group ends with it. Groups that sbn_group_split made of it
 * do not: abort each of them. Not interrupted are waiting for this rank's own devices,
 * sbn_group_create, and a transport's `split`.
 *
 * On other ranks it is as if this rank had stopped: their calls end by their timeout.
 * Requests that are under way stay pending in the transport, as after a timeout; see
 * <syncbn-mpi.h> for how to end an MPI job then.
 */
SBN_API int sbn_group_abort(sbn_group *group);

/*
 * Can this device (a cl_device_id) run the kernels? SBN_SUCCESS, or
 * SBN_UNSUPPORTED_DEVICE with the reason in sbn_last_error(). Reads what the device
 * reports and compiles nothing.
 */
SBN_API int sbn_device_check(struct _cl_device_id *device);

/*
 * Bytes of device memory that the library holds now: working memory and tables of all
 * groups, layers and saved statistics of the process, on all devices. The caller's
 * tensors do not count. A group keeps its working memory from pass to pass.
 */
SBN_API size_t sbn_device_memory(void);

#ifdef __cplusplus
}
#endif

#endif
