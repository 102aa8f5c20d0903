/* What a layer pass checks and allocates before anything is enqueued. */
#pragma once

#include "launch/layer_pass.h"

/*
 * Chooses the kind of a layer's call and checks the call without its shards. *status is already set
 * if the layer is not of this group. It must choose even after an error.
 */
typedef const sbn_layer_pass_kind *sbn__choose(sbn_branch *branch, int *status);

/* Chooses the kind, fills the call, and marks the saved statistics as used unless there is an error. */
int sbn__layer_pass_open(sbn_layer_pass *lp, sbn__choose *choose, sbn_branch branch);

/* Resets what is combined. */
void sbn__layer_pass_start(sbn_layer_pass *lp);

/*
 * Checks the shards, copies them and chooses the steps, by `devices` and `at_once` as in
 * src/pass/steps.h; nothing but markers is enqueued.
 */
int sbn__layer_pass_prepare(sbn_layer_pass *lp, int devices, int at_once);
