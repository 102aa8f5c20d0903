/*
 * A whole pass in one launch (cl/cpu/forward_whole.cl), of a replica that is alone and whose launch
 * plan says so: the steps of src/pass/steps.h without anything between.
 */
#ifndef SBN_LAUNCH_WHOLE_H
#define SBN_LAUNCH_WHOLE_H

#include "launch/layer_pass.h"

/* Channels of a work-group, or 0: the steps are launched apart. */
size_t sbn__whole_strip(const sbn_layer_pass *lp);

/*
 * Enqueues the pass; with `tracks` it updates the running statistics. Its event is the replica's
 * next one, and that of step 3.
 */
int sbn__whole(sbn_layer_pass *lp, sbn_replica *replica, int tracks);

/* These are functions of the layer pass's kind. */
int sbn__whole_forward(sbn_layer_pass *lp, sbn_replica *replica, int tracks, sbn_wait *wait,
                       cl_event *event);
int sbn__whole_backward(sbn_layer_pass *lp, sbn_replica *replica, int tracks, sbn_wait *wait,
                        cl_event *event);

#endif
