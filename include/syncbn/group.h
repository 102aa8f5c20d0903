/*
 * A group: the replicas that share statistics. This process contributes any number of replicas, one
 * command queue each. The queues may belong to any devices of any platforms; several replicas may
 * share a device or a queue. A transport joins them with the replicas of other processes or
 * threads.
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
 * The version of the order of summation (doc/order.md). The same version gives the same bits of
 * every result, on any device. All ranks of a group must have the same.
 */
#define SBN_ORDER_VERSION 3

/* How many replicas a group may have in one process, and an sbn_data_parallel in all of them. */
#define SBN_MAX_REPLICAS 65535

typedef struct sbn_group sbn_group;

/*
 * What a call does when other ranks have not answered within the group's timeout. The clock
 * restarts whenever a sum over the ranks arrives and after each wait for this rank's own devices,
 * so a slow but living group does not time out. Nor does one whose job was suspended: of the time for
 * which a waiting process was stopped, a second counts at most.
 *
 * The sentence names the ranks that are not known to have come. A rank that comes later to a pass,
 * with this call or another, is told at once if the ranks' headers travelled alone
 * (<syncbn/transport.h>): its call and its group fail with SBN_REMOTE_ERROR, whose sentence names
 * the ranks that timed out; with SBN_TIMEOUT_LOCAL it goes on alone. Over MPI those ranks must
 * still call the library for this, as in sbn_mpi_destroy. If the others had sent their sums with
 * the header, as in most of a training, or gave up only while waiting for this rank's sums, its
 * call succeeds, with SBN_TIMEOUT_LOCAL by sums that the others have not used, and its next call
 * times out. The call itself waits for its own timeout where it needs the others again: for the
 * wide format (sbn_result), to tell of an error, or, behind sums with the header, if it is another
 * call or begins by sbn_forward_begin or another begin. A rank that comes later to a split or to an
 * exchange of tensors waits for its own timeout.
 */
typedef enum sbn_timeout_action {
    /* The call fails with SBN_TIMEOUT. The group has failed: later calls are SBN_GROUP_FAILED. */
    SBN_TIMEOUT_FAIL = 0,
    /*
     * This pass and all later ones use this rank's own statistics, without waiting;
     * sbn_result.synchronised is 0. A split then gives groups that are alone in the same way.
     * Tensors are no longer exchanged.
     */
    SBN_TIMEOUT_LOCAL = 1
} sbn_timeout_action;

/* Which form of the kernels a replica runs. Both give the same bits. */
typedef enum sbn_kernel_form {
    SBN_FORM_AUTO = 0, /* the CPU form on CPUs whose compiler has vectors, else the GPU form */
    SBN_FORM_CPU = 1,  /* one work-item per work-group, explicit vectors */
    SBN_FORM_GPU = 2   /* work-groups with local memory */
} sbn_kernel_form;

/* The settings of a group. The first three fields are enough for one process. */
typedef struct sbn_group_config {
    size_t size; /* sizeof(sbn_group_config) */
    /* A const cl_command_queue *: one queue per replica, retained by the group. */
    struct _cl_command_queue *const *queues;
    /*
     * How many queues: at most SBN_MAX_REPLICAS. With a transport it may be 0: the rank then only
     * takes part in combining.
     */
    size_t replicas;
    /* From <syncbn/transport.h> or <syncbn-mpi.h>; copied. NULL: this process alone. */
    const struct sbn_transport *transport;
    /*
     * How long to wait for other ranks, in seconds, > 0. A rank's first pass may compile kernels
     * while the others wait for it: some seconds, on some devices minutes.
     */
    double timeout;
    sbn_timeout_action on_timeout; /* what a call does after the timeout: fail, or go on alone */
    sbn_kernel_form form;          /* for tests: SBN_FORM_AUTO chooses well */
    /*
     * For experiments: added to the OpenCL compiler's options, separated by spaces (quotes do not
     * hold words together); at most 1000 characters. Copied; NULL: none. Options that relax
     * arithmetic, such as "-cl-fast-relaxed-math" and "-cl-mad-enable", are SBN_INVALID_ARGUMENT.
     * On Intel's GPUs a buffer above CL_DEVICE_MAX_MEM_ALLOC_SIZE is SBN_INVALID_ARGUMENT without
     * "-cl-intel-greater-than-4GB-buffer-required", which costs speed. Options that the compiler does
     * not take are SBN_INVALID_ARGUMENT.
     */
    const char *build_options;
    /*
     * The folder that keeps compiled programs, and what `syncbn tune` has found. NULL:
     * $XDG_CACHE_HOME/syncbn, or ~/.cache/syncbn, where programs for CPUs are not kept and to which
     * alone `syncbn tune` writes; "": none. A relative path is taken from the working directory at
     * each compilation; give an absolute one. A folder that cannot be used is no error. doc/mpi.md,
     * "Kernel caches", has the rules.
     */
    const char *program_cache;
    /*
     * Called before a program is compiled that is not in program_cache, with a sentence that tells
     * which and for what device: each takes some seconds, on some devices minutes. NULL: not called.
     * The thread that creates the group or the layer, or makes the pass, calls it; it must not call
     * the library.
     */
    void (*on_compile)(void *context, const char *sentence);
    void *compile_context; /* the first argument of on_compile */
} sbn_group_config;

/* A timeout of 300 seconds, and zeros. Set `queues` and `replicas`. */
#define SBN_GROUP_CONFIG_INIT \
    { \
        sizeof(sbn_group_config), NULL, 0, NULL, 300.0, SBN_TIMEOUT_FAIL, SBN_FORM_AUTO, NULL, \
            NULL, NULL, NULL \
    }

/* Writes SBN_GROUP_CONFIG_INIT to a struct of `size` bytes. */
SBN_API int sbn_group_config_init(sbn_group_config *config, size_t size);

/*
 * Makes a group and compiles the kernels of float32 layers without activation and residual;
 * sbn_batchnorm_create compiles those of another type or fusion. In the GPU form the kernels that sum
 * over a tensor are left to the first pass that needs them (forward, backward; for each layout, views,
 * type, fusion). Does not communicate with other ranks.
 *
 * Kernels are compiled once per device, context, form and build_options: groups share them, and the
 * last of these groups releases them. Before kernels that do not come from the cache, a self-test
 * of the device's arithmetic runs. The queues are retained; `config` may go afterwards.
 *
 * Errors. SBN_INVALID_ARGUMENT; SBN_UNSUPPORTED_DEVICE, if a device lacks something or breaks a
 * rule of the self-test, which the sentence names; SBN_OUT_OF_MEMORY; OpenCL's codes. *group is
 * then NULL.
 */
SBN_API int sbn_group_create(const sbn_group_config *config, sbn_group **group);

/*
 * Ends a group. Waits for the group's commands that still run on its queues.
 *
 * End its passes first. Destroy what was made of it: saved statistics, sbn_data_parallels, groups of
 * several ranks that were split from it. Destroy its layers, or move them to another group. A group
 * of sbn_group_split has several handles and ends with the last of them; the calls for the others
 * succeed; over MPI the last one waits up to a second for those of the other ranks. A group that
 * timed out or was aborted leaves the memory of its unfinished requests allocated.
 *
 * Errors. SBN_INVALID_ARGUMENT, while passes are under way or something belongs to the group; it
 * then stays as it was.
 */
SBN_API int sbn_group_destroy(sbn_group *group);

/* How many replicas of the group this process has. */
SBN_API size_t sbn_group_replicas(const sbn_group *group);

/*
 * This rank's number.
 *
 * Return value. From 0 on; 0 without a transport.
 */
SBN_API int sbn_group_rank(const sbn_group *group);

/*
 * How many ranks the group has.
 *
 * Return value. From 1 on; 1 without a transport, 0 if `group` is not a group.
 */
SBN_API int sbn_group_world_size(const sbn_group *group);

/*
 * Does the group take passes?
 *
 * *reason (`reason` may be NULL) receives the sentence of the failure that ended the group, or an
 * empty one. It is valid until the group ends. With SBN_TIMEOUT_LOCAL a group that timed out still
 * takes passes: the status is SBN_SUCCESS, and the sentence is that of the timeout.
 *
 * Return value. SBN_SUCCESS if it does; else the status that ended it: SBN_TIMEOUT,
 * SBN_REMOTE_ERROR where others had timed out or were aborted, SBN_TRANSPORT_ERROR, SBN_ABORTED,
 * SBN_OUT_OF_MEMORY where the other ranks could not be told of it, or the code of a device that failed.
 * SBN_INVALID_ARGUMENT if `group` is not a group.
 */
SBN_API int sbn_group_status(const sbn_group *group, const char **reason);

/*
 * Can this device (a cl_device_id) run the kernels? Reads what the device reports and compiles
 * nothing.
 *
 * Errors. SBN_UNSUPPORTED_DEVICE: it cannot; the sentence says why.
 */
SBN_API int sbn_device_check(struct _cl_device_id *device);

/*
 * A queue on this machine's CPU, for programs that have their tensors in memory of the host
 * (SBN_MEMORY_HOST) and no other use of OpenCL. The weights of checkpoints, averaging and folding take
 * OpenCL's buffers alone: make these in the queue's context.
 *
 * It is a queue in order on the first CPU whose driver can run the kernels, the same one in every
 * call, from any thread. It lives as long as the process: do not release it. Several replicas and
 * groups may have it.
 *
 * Errors. SBN_UNSUPPORTED_DEVICE: there is no such CPU; the sentence says why. OpenCL's codes.
 * *queue is then NULL.
 */
SBN_API int sbn_host_queue(struct _cl_command_queue **queue);

/*
 * Bytes of device memory that the library holds now: working memory and tables of all groups,
 * layers and saved statistics of the process, on all devices. Your tensors do not count. A group
 * keeps its working memory from pass to pass.
 */
SBN_API size_t sbn_device_memory(void);

/* The colour of a replica that joins no group. */
#define SBN_NO_COLOUR (-1)

/*
 * Splits a group into smaller ones. Blocks until all ranks of the group have called it, at most for
 * the group's timeout, and then in the transport's `split`, which may have none (doc/mpi.md, "Errors").
 *
 * `colours` has one number for each replica of this process: a colour from 0 on, or SBN_NO_COLOUR.
 * All replicas of one colour, in whichever process, become a group. Replicas and ranks keep their
 * order: a rank's number in the new group is its place among the ranks that have the colour.
 *
 * groups[r] receives a handle of replica r's group, or NULL for SBN_NO_COLOUR. Replicas of this
 * process with the same colour receive the same handle, and each counts as a reference: call
 * sbn_group_destroy for each of groups[0], groups[1], ... The last call for a group ends it. Over
 * MPI all ranks end their groups in one order, best by colour. All its ranks end it before the
 * group that was split is ended.
 *
 * The old group stays usable beside the new ones. The new groups use the same queues, kernels and
 * settings.
 *
 * Every rank calls this in its turn among the passes, with no pass of the group under way. A rank
 * without replicas calls it too; its `colours` and `groups` may be NULL.
 *
 * Errors. Those of sbn_forward; nothing is made on any rank then. SBN_INVALID_ARGUMENT: the
 * transport has no `split`.
 */
SBN_API int sbn_group_split(sbn_group *group, const int *colours, sbn_group **groups);

/*
 * Ends a group from any thread, for example a watchdog's. The group's own thread may be waiting in
 * it. Does not block. The group must exist until the call has returned.
 *
 * On this rank a call that waits for other ranks stops waiting, whatever on_timeout is. It fails
 * with SBN_ABORTED, and so do the other passes under way that wait. The sentence names the call and
 * the ranks that had not come; to find them out takes up to a second, or half the timeout if that is
 * shorter. Later passes, splits and exchanges fail with SBN_GROUP_FAILED. Evaluation with running
 * statistics and recomputation still work. An sbn_data_parallel of the group ends with it; groups
 * that were split off do not.
 *
 * Not interrupted are waits for this rank's own devices, sbn_group_create, and a transport's
 * `split`.
 *
 * Other ranks are told, as after a timeout, where they join the pass: SBN_REMOTE_ERROR, or with
 * SBN_TIMEOUT_LOCAL they go on alone. Where they cannot be told, their calls end by their timeout.
 * Requests stay pending in the transport: see <syncbn-mpi.h> for how to end an MPI job then.
 */
SBN_API int sbn_group_abort(sbn_group *group);

#ifdef __cplusplus
}
#endif

#endif
