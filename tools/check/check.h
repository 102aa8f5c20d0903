/*
 * One problem from its line to the judgement: inputs, a layer, buffers with guards around their
 * contents, the passes, everything read back into global logical order (outputs.h), the comparison.
 */
#pragma once

#include "check/compare.h"
#include "check/digests.h"
#include "check/queues.h"

/*
 * Runs the problem's passes, forward, backward, evaluation, recomputation in
 * that order, and fills `out`, digests included; free it with outputs_free,
 * after a failure too. A write outside a buffer's contents, or gradients that
 * a global problem leaves different between replicas, fails with RUNNER_SPOILT.
 *
 * Returns SBN_SUCCESS, or a negative status with a sentence in `error`, RUNNER_ERROR characters:
 * which call failed, and the library's own sentence.
 */
int check_passes(queues *q, const problem *p, const placement *g, const inputs *in, outputs *out,
                 char *error);

typedef struct check_result {
    int ok;
    int status;               /* of the passes */
    char error[RUNNER_ERROR]; /* why, if it failed before there was anything to compare */
    int refused;              /* the problem had to be refused, and was */
    placement placement;
    outputs outputs;
    digests digests; /* of inputs and outputs, unless the passes failed */
    int bits_known;  /* they were compared with recorded ones */
    comparison comparison;
    double seconds;
} check_result;

/*
 * Always fills `result`; free it with check_free. A problem with one value per
 * channel in training is passed by being refused with SBN_TOO_FEW_VALUES. Digests
 * that were `recorded` must come out; without any, NULL.
 */
void check_run(queues *r, const problem *p, const digests *recorded, check_result *result);
void check_free(check_result *result);
