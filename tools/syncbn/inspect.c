#include "syncbn/inspect.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syncbn/safe_text.h"

static tensor_range range_of(const float *values, size_t count)
{
    tensor_range range = {NAN, NAN, 0};
    for (size_t i = 0; i < count; ++i) {
        if (isfinite(values[i])) {
            /* fmin ignores NaN. */
            range.least = fminf(range.least, values[i]);
            range.most = fmaxf(range.most, values[i]);
        } else {
            ++range.not_finite;
        }
    }
    return range;
}

static void add_problem(layer_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_problem(layer_report *report, const char *format, ...)
{
    va_list arguments;
    if (report->problems == MOST_PROBLEMS)
        return;
    va_start(arguments, format);
    vsnprintf(report->problem[report->problems++], sizeof *report->problem, format, arguments);
    va_end(arguments);
}

static void judge(layer_report *report, const float *var)
{
    const struct {
        const char *name;
        const tensor_range *range;
    } ranges[] = {{"weight", &report->weight},
                  {"bias", &report->bias},
                  {"mean", &report->mean},
                  {"variance", &report->var}};
    size_t negative = 0, zero = 0;
    for (size_t c = 0; c < report->layer.channels; ++c) {
        negative += var[c] < 0;
        zero += var[c] == 0;
    }
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; ++i)
        if (ranges[i].range->not_finite)
            add_problem(report, "%s: NaN or Inf in %zu of %zu channels", ranges[i].name,
                        ranges[i].range->not_finite, report->layer.channels);
    if (negative) {
        add_problem(report, "variance: negative in %zu of %zu channels", negative,
                    report->layer.channels);
    }
    if (zero)
        add_problem(report, "variance: 0 in %zu of %zu channels", zero, report->layer.channels);
    if (report->batches < 0)
        add_problem(report, "num_batches_tracked: %lld", (long long)report->batches);
    /* The values of a new layer; without a count only they can tell that it was never trained. */
    const int fresh = report->mean.least == 0 && report->mean.most == 0 && report->var.least == 1 &&
                      report->var.most == 1 && !report->mean.not_finite && !report->var.not_finite;
    if (report->batches == 0 && fresh)
        add_problem(report, "never trained: mean 0 and variance 1");
    else if (report->layer.tracked && report->batches == 0)
        add_problem(report, "never trained: no batches tracked");
}

int inspect_layer(const sbn_checkpoint *checkpoint, size_t index, layer_report *report)
{
    memset(report, 0, sizeof *report);
    report->layer.size = sizeof report->layer;
    int status = sbn_checkpoint_layer(checkpoint, index, &report->layer);
    if (status)
        return status;
    const size_t channels = report->layer.channels;
    if (channels == 0) {
        add_problem(report, "no channels");
        return SBN_SUCCESS;
    }
    float *values = channels < SIZE_MAX / 4 / sizeof(float) ? malloc(4 * sizeof(float) * channels)
                                                            : NULL;
    if (!values)
        return SBN_OUT_OF_MEMORY;
    float *weight = values, *bias = weight + channels, *mean = bias + channels;
    float *var = mean + channels;
    status = sbn_checkpoint_read(checkpoint, index, weight, bias, mean, var, &report->batches);
    if (status == SBN_KEY_MISMATCH) {
        add_problem(report, "%s", sbn_last_error());
        status = SBN_SUCCESS;
    } else if (!status) {
        report->readable = 1;
        report->weight = range_of(weight, channels);
        report->bias = range_of(bias, channels);
        report->mean = range_of(mean, channels);
        report->var = range_of(var, channels);
        judge(report, var);
    }
    free(values);
    return status;
}
