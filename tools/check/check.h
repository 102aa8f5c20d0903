/* One problem from its line to the judgement: inputs, passes, comparison. */
#pragma once

#include "check/compare.h"
#include "check/digests.h"
#include "check/runner.h"

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
