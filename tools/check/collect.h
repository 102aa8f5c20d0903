/* Reading a problem's results back. */
#pragma once

#include "check/job.h"

/* After the passes: reads everything back into the job's outputs. */
int job_collect(job *j);

/* One tensor of every replica, where global order, or replica order, wants it. */
int job_collect_tensor(job *j, tensor_id from, output_id to);

/*
 * Fills in `preactivation` and `apart`, where the problem is not of floats or has something behind the
 * batch norm: a layer of floats normalises the same numbers in the same group and queues, with nothing
 * behind it. Both have the same bits (pass.h).
 */
int job_apart(const job *fused, sbn_group *group, cl_command_queue *queue);
