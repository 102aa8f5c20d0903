/*
 * Several steps in one launch, of a group of one replica: the reduction combines its channels
 * (cl/gpu/tail.cl), or a launch does all of a pass (cl/cpu/forward_whole.cl).
 */
#pragma once

#include "launch/combining.h"
#include "launch/layer_pass.h"

/* Channels of a work-group that does all steps, or 0. */
size_t sbn__whole_strip(const sbn_layer_pass *lp);

/* 1 if the reduction can combine. */
int sbn__reduction_combines(const sbn_layer_pass *lp);

/* Enqueues all steps, or the first two, of a pass that is made at once, as sbn__device_combine does step 2. */
int sbn__whole(sbn_layer_pass *lp, sbn_replica *replica);
int sbn__reduce_and_combine(sbn_layer_pass *lp, sbn_replica *replica);

/* All steps: functions of the layer pass's kind. */
int sbn__whole_forward(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                       const sbn_wait *wait, cl_event *event);
int sbn__whole_backward(sbn_layer_pass *lp, sbn_replica *replica, const sbn_combining *combining,
                        const sbn_wait *wait, cl_event *event);
