/*
 * The batch norms of the network with their ReLUs, by syncbn. Who shares statistics is a matter
 * of grouping and of nothing else: per replica is a group for each replica,
 * synchronised is one group of them all. Everything below is the same code
 * for both.
 */
#pragma once

#include <syncbn.h>

#include "device.h"

enum norm_kind {
    NORM_PER_REPLICA,  /* a group per replica */
    NORM_SYNCHRONISED, /* one group of all replicas, of other ranks too */
    NORM_EVALUATION    /* one group with a replica per device, for running statistics */
};

/* Who a group consists of: a replica, or in evaluation a device. */
struct norm_replica {
    struct device *device;
    cl_command_queue queue;
    size_t row;    /* which replica of the device: its row of norm_gradients */
    size_t first;  /* its images within the device's tensors */
    size_t images; /* 0: all that the device has at the moment */
};

struct norm_group {
    sbn_group *group;
    sbn_batchnorm *layer[NORMS];
    sbn_saved *saved[NORMS];
};

struct norm {
    const struct network *network;
    enum norm_kind kind;
    size_t replicas, groups; /* of this rank; the replicas of a group follow one another */
    size_t ranks;            /* that share the replicas */
    struct norm_replica *replica;
    struct norm_group *group;
    /* Scratch of a pass. */
    sbn_shard *shards;
    cl_event *ready, *done;
    sbn_pass **pass;
};

/* All `ranks` open a synchronised norm together, and then pass through it together. */
void norm_open(struct norm *norm, enum norm_kind kind, const struct network *network,
               struct device *devices, size_t count, size_t ranks);
void norm_close(struct norm *norm);

/* Block b on all devices: linear -> normed. Evaluation uses the running statistics. */
void norm_forward(struct norm *norm, int b);

/* Block b on all devices: d_normed -> d_linear, and each replica's row of norm_gradients. */
void norm_backward(struct norm *norm, int b);

/*
 * Gives `evaluation` the running statistics of `trained`. Those of several
 * groups are averaged, which is kinder to per-replica statistics than the
 * usual way of keeping the first replica's.
 */
void norm_take_running_stats(struct norm *evaluation, const struct norm *trained);
