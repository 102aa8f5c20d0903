#include "check/check.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check/job.h"

static void judge(const problem *p, const inputs *in, const digests *recorded, check_result *result)
{
    int one_value = result->placement.values == 1 && p->passes & PASS_FORWARD && !p->frozen;
    if (one_value) {
        result->refused = result->ok = result->status == SBN_TOO_FEW_VALUES;
        if (!result->status) {
            snprintf(result->error, sizeof result->error,
                     "one value per channel in training must be SBN_TOO_FEW_VALUES");
        }
        return;
    }
    if (result->status)
        return;
    const int status = compare(p, &result->placement, in, &result->outputs, &result->comparison);
    if (status) {
        result->status = job_failed_here(result->error, "comparing", status);
        return;
    }
    digests_take(&result->placement, in, &result->outputs, &result->digests);
    result->ok = result->comparison.ok;
    result->bits_known = recorded && recorded->order;
    if (result->bits_known &&
        digests_differ(recorded, &result->digests, result->error, sizeof result->error))
        result->ok = 0;
}

void check_run(queues *r, const problem *p, const digests *recorded, check_result *result)
{
    inputs in;
    double start = sbn__seconds();
    memset(result, 0, sizeof *result);
    int status = placement_make(p, queues_replicas(r), &result->placement);
    if (!status)
        status = inputs_make(p, &result->placement, &in);
    if (status) {
        result->status = job_failed_here(result->error, "making inputs", status);
        return;
    }
    result->status = runner_run(r, p, &result->placement, &in, &result->outputs, result->error);
    judge(p, &in, recorded, result);
    inputs_free(&in);
    result->seconds = sbn__seconds() - start;
}

void check_free(check_result *result)
{
    outputs_free(&result->outputs);
    placement_free(&result->placement);
}
