/*
 * Every half and every bfloat16, evaluated with mean 0, variance 1, eps 0 and weights that make
 * results exact, ties, subnormal and too large: y is the product, rounded as checkpoints are
 * (tests/model/checkpoint.c). On every device, in both forms and layouts.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/elements.h"
#include "support/tap.h"
#include "support/trial.h"
#include "support/wraps.h"

enum { VALUES = 1 << 16, CHANNELS = 12 };

/* Of halves, and of bfloat16s: the last place of their mantissas is 2^-10, and 2^-7. */
static const float weights[2][CHANNELS] = {
    {1.0f, -1.0f, 0x1.002p0f, 0x1.002002p0f, 0x1.001ffep0f, 0x1.006p0f, 0x1p-10f, 0x1.8p-10f,
     0x1p-25f, 0x1.554p-16f, 0x1.ffep0f, 0x1p20f},
    {1.0f, -1.0f, 0x1.01p0f, 0x1.010002p0f, 0x1.00fffep0f, 0x1.03p0f, 0x1p-100f, 0x1.8p-120f,
     0x1p-133f, 0x1.54p-64f, 0x1.ffp0f, 0x1p100f},
};

static int is_denormal(float value)
{
    return value != 0.0f && fabsf(value) < 0x1p-126f;
}

static float right_of(sbn_type type, float x, float weight)
{
    const float product = fmaf(weight, x, 0.0f);
    return element_round(type, product == 0.0f ? 0.0f : product);
}

/* A device may read and write 0 for floats below the least normal one, if it says so. */
static int may_be(sbn_type type, float got, float x, float weight, int flushes)
{
    const float right = right_of(type, x, weight), y = weight * x;
    if (memcmp(&got, &right, sizeof got) == 0 || (isnan(got) && isnan(right)))
        return 1;
    return flushes && (is_denormal(x) || is_denormal(y) || is_denormal(weight)) && got == 0.0f;
}

static void check_all(queues *r, const device_info *info, sbn_kernel_form form, sbn_type type,
                      int is_last)
{
    const float *own = weights[type == SBN_BF16];
    char line[128], error[RUNNER_ERROR] = "";
    cl_device_fp_config config = 0;
    size_t wrong = 0, first = 0;
    trial t;
    clGetDeviceInfo(info->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    snprintf(line, sizeof line, "mb1ic%dil%d,%s,eps=0,passes=e,form=%s%s", CHANNELS, VALUES,
             type_names[type], form_names[form], is_last ? ",last" : "");
    trial_make(&t, line, 1);
    for (size_t c = 0; c < CHANNELS; ++c) {
        t.in.weight[c] = own[c];
        t.in.bias[c] = t.in.running_mean[c] = 0.0f;
        t.in.running_var[c] = 1.0f;
        for (size_t i = 0; i < VALUES; ++i) {
            const uint16_t bits = (uint16_t)i;
            elements_unpack(type, &bits, 1, &t.in.x[placement_plane_start(&t.g, 0, c) + i]);
        }
    }
    const int ran = !trial_run(&t, r, error);
    const float *y = t.out.of[OUT_EVAL].data;
    for (size_t k = 0; ran && k < (size_t)CHANNELS * VALUES; ++k)
        if (!may_be(type, y[k], t.in.x[k], own[k / VALUES], !(config & CL_FP_DENORM)) &&
            wrong++ == 0)
            first = k;
    const float weight = own[first / VALUES], x = t.in.x[first];
    tap_ok(ran && wrong == 0, "%s: %s: %zu are wrong, the first %a times %a: expected %a, got %a%s",
           info->name, line, wrong, (double)x, (double)weight, (double)right_of(type, x, weight),
           ran ? (double)y[first] : 0.0, error);
    trial_free(&t);
}

/* By the kernels as they are, then by integers where these leave halves to others. */
static void check_device(queues *r, const device_info *info)
{
    static const char *const others[][2] = {[SBN_FORM_CPU] = {"#define F16C 1", "#define F16C 0"},
                                            [SBN_FORM_GPU] = {"#define HALF_FUNCTIONS 1",
                                                              "#define HALF_FUNCTIONS 0"}};
    const runner_config config = {.devices = &info->id, .num_devices = 1};
    /* A sample of a device that has the GPU form alone has two of the four. */
    const int step = sample_only() && info->form == SBN_FORM_GPU ? 3 : 1;
    for (sbn_kernel_form form = info->form; form <= SBN_FORM_GPU; ++form) {
        char error[RUNNER_ERROR];
        queues *replaced;
        for (int which = 0; which < 4; which += step)
            check_all(r, info, form, which < 2 ? SBN_F16 : SBN_BF16, which % 2);
        wraps_replace(others[form][0], others[form][1]);
        if (tap_ok(!queues_open(&config, &replaced, error), "queues of its own")) {
            check_all(replaced, info, form, SBN_F16, 0);
            check_all(replaced, info, form, SBN_F16, 1);
            queues_close(replaced);
        }
        tap_ok(wraps_replaced > 0, "%d places replaced", wraps_replaced);
        wraps_replace(NULL, NULL);
    }
}

int main(void)
{
    return trial_every_device(check_device);
}
