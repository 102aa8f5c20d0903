/*
 * The step plans of a layer pass: who combines its accumulators, and what is enqueued for that. The
 * pass chooses one when it begins.
 */
#pragma once

#include "launch/layer_pass.h"

typedef struct sbn_steps {
    /* Brings the copies up to date that the host is to read or write, and forgets what has failed. */
    int (*prepare)(sbn_layer_pass *lp);
    /* Enqueues step 1 on a replica. NULL: the command that combines does it. */
    int (*reduce)(sbn_layer_pass *lp, sbn_replica *replica);
    /* Where devices combine: step 2, with running statistics where the replica updates them. */
    int (*combine)(sbn_layer_pass *lp, sbn_replica *replica);
    /* Updates the caller's running statistics of a replica. NULL: the command that combines does it. */
    int (*track)(sbn_layer_pass *lp, sbn_replica *replica);
    /* Enqueues step 3 on a replica. NULL: the command that combines has done it. */
    int (*apply)(sbn_layer_pass *lp, sbn_replica *replica);
} sbn_steps;

/*
 * The plan of a layer pass whose shapes are known. `devices`: of a pass that devices combine;
 * `at_once`: of one layer, which the caller ends before it does anything else.
 */
const sbn_steps *sbn__steps_of(sbn_layer_pass *lp, int devices, int at_once);

/* Keeps what outlives the pass, when all of it is combined, in the order passes began. */
void sbn__steps_commit(sbn_layer_pass *lp);
