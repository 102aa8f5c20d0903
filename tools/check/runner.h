/*
 * Running a problem with the library: a group over chosen devices, a layer,
 * buffers with guards around their contents, the passes, and everything read
 * back into global logical order (outputs.h).
 *
 * Replica r of a problem runs on devices[r % num_devices]; name a device twice
 * to give it two of three replicas. Each device has one context; groups are
 * kept between problems, so kernels are compiled once.
 */
#pragma once

#include "check/inputs.h"
#include "check/outputs.h"
#include "check/queues.h"

/*
 * Runs the problem's passes, forward, backward, evaluation, recomputation in
 * that order, and fills `out`, digests included; free it with outputs_free,
 * after a failure too. A write outside a buffer's contents, or gradients that
 * a global problem leaves different between replicas, fails with RUNNER_SPOILT.
 * `error`, RUNNER_ERROR characters: which call failed, and the library's own sentence.
 */
int runner_run(queues *q, const problem *p, const placement *g, const inputs *in, outputs *out,
               char *error);
