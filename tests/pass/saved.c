/*
 * What doc/order.md says of saved statistics, their last bits, and what <syncbn/batchnorm.h> and
 * <syncbn/pass.h> say of NaN: where it comes from, and where it stays. Planes of one element, so that sums
 * are exact but for what is cut off.
 */
#include <math.h>
#include <string.h>

#include "group/group.h"
#include "support/main.h"
#include "support/wraps.h"

enum { SAMPLES = 8 };

static slice data;

/* How a layer of one channel is made; on_host: the host combines. */
typedef struct setting {
    double eps; /* OFF: 0 */
    sbn_eps_mode mode;
    sbn_activation activation;
    sbn_layout layout;
    sbn_kernel_form form;
    int on_host;
} setting;

static life make(const setting *as)
{
    sbn_group *group = fixture_group(queue, 1, as->form);
    group->combines = group->combines && !as->on_host;
    return LIVE_WITH(group, .channels = 1, .eps = as->eps, .eps_mode = as->mode,
                     .activation = as->activation, .layout = as->layout);
}

/* Half of the elements are 2^scale, half are larger by a unit in the last place. */
static void variance(double eps, int scale, float *mean, float *var)
{
    float x[SAMPLES];
    const life l = make(&(setting){.eps = eps});
    for (int i = 0; i < SAMPLES; ++i)
        x[i] = ldexpf(i % 2 ? 0x1.000002p0f : 1.0f, scale);
    buffer_write(&data, &data.shard.x, SAMPLES, x);
    must(sbn_forward(l.layer, &data.shard, l.saved, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
    must(sbn_saved_stats(l.saved, mean, var, NULL), "sbn_saved_get");
    fixture_die(&l);
}

static void check_variance(void)
{
    const double cut = 0x1p-78;
    int far_off = 0;
    for (int scale = -40; scale <= 10; ++scale) {
        float mean, var;
        const double exact_mean = ldexp(1.0 + 0x1p-24, scale), exact = ldexp(0x1p-48, 2 * scale);
        variance(0x1p-48, scale, &mean, &var);
        const double off = fabs((double)var - exact);
        if (off > cut || fabs(mean - exact_mean) > 0x1p-63 + ldexp(0x1p-24, scale))
            tap_ok(0, "2^%d: mean %a of %a, variance %a of %a", scale, (double)mean, exact_mean,
                   (double)var, exact);
        far_off += exact < cut && off > exact / 2;
        variance(OFF, scale, &mean, &var);
        if ((double)var != exact || mean != (float)exact_mean)
            tap_ok(0, "2^%d, eps 0: mean %a of %a, variance %a of %a", scale, (double)mean,
                   exact_mean, (double)var, exact);
    }
    tap_ok(1, "variances down to 2^-128: within 2^-78 with eps 2^-48, exact with eps 0");
    tap_ok(far_off > 0, "below 2^-78 the variance was lost %d times", far_off);
}

/* All of y, or of dx, are NaN. */
static void all_are_nan(const setting *as, const sbn_buffer *buffer, const char *what)
{
    float values[SAMPLES];
    int all = 1;
    buffer_read(&data, buffer, SAMPLES, values);
    for (int i = 0; i < SAMPLES; ++i)
        all = all && isnan(values[i]);
    tap_ok(all, "%s, %s form, %s%s%s: NaN", what, as->form == SBN_FORM_CPU ? "CPU" : "GPU",
           as->layout == SBN_LAYOUT_NCHW ? "channels first" : "channels last",
           as->activation == SBN_RELU ? ", ReLU" : "", as->on_host ? ", the host combines" : "");
}

/* A forward and a backward pass over these. */
static void train(const life *l, const float *x, const float *dy)
{
    buffer_write(&data, &data.shard.x, SAMPLES, x);
    buffer_write(&data, &data.shard.dy, SAMPLES, dy);
    slice_reset(&data);
    must(sbn_forward(l->layer, &data.shard, l->saved, 0, NULL), "sbn_forward");
    must(sbn_backward(l->layer, &data.shard, l->saved, 0, NULL), "sbn_backward");
}

static const float constant[SAMPLES] = {1, 1, 1, 1, 1, 1, 1, 1};
static const float some[SAMPLES] = {0, 1, -1, 2, -2, 3, -3, 4};

/* A variance of 0, in training also one that is cut off, with eps 0. */
static void check_eps(setting as)
{
    const float zero = 0.0f;
    float tiny[SAMPLES]; /* their mean has more digits than a float */
    as.eps = OFF;
    const life l = make(&as);
    for (int i = 0; i < SAMPLES; ++i)
        tiny[i] = ldexpf(1.0f + 0x1p-23f * (float)(i + i / 7), -100);
    for (int is_tiny = 0; is_tiny < 2; ++is_tiny) {
        train(&l, is_tiny ? tiny : constant, some);
        all_are_nan(&as, &data.shard.y, is_tiny ? "training, tiny, y" : "training, constant, y");
        all_are_nan(&as, &data.shard.dx, is_tiny ? "training, tiny, dx" : "training, constant, dx");
    }
    must(sbn_batchnorm_set_running_stats(l.layer, &zero, &zero, NULL), "set");
    buffer_write(&data, &data.shard.x, SAMPLES, some);
    slice_reset(&data);
    must(sbn_evaluate(l.layer, &data.shard), "sbn_evaluate");
    all_are_nan(&as, &data.shard.y, "evaluation, y");
    must(sbn_batchnorm_set_frozen(l.layer, 1), "freeze");
    train(&l, some, some);
    all_are_nan(&as, &data.shard.y, "frozen, y");
    all_are_nan(&as, &data.shard.dx, "frozen, dx");
    fixture_die(&l);
}

/* An infinite dy where eps takes the place of the variance. */
static void check_clamped(setting as)
{
    float dy[SAMPLES];
    as.eps = 1.0;
    as.mode = SBN_EPS_CLAMP;
    as.activation = SBN_IDENTITY;
    const life l = make(&as);
    memcpy(dy, some, sizeof dy);
    dy[3] = INFINITY;
    train(&l, constant, dy);
    all_are_nan(&as, &data.shard.dx, "a clamped variance, Inf in dy, dx");
    fixture_die(&l);
}

void checks(void)
{
    wraps_build_once();
    slice_open(&data, &device, queue, 0, SAMPLES, 1, 1, 1);
    check_variance();
    for (int option = 0; option < 16; ++option) {
        const setting as = {
            .activation = option & 1 ? SBN_RELU : SBN_IDENTITY,
            .layout = option & 2 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW,
            .on_host = option & 4,
            .form = option & 8 ? SBN_FORM_GPU : SBN_FORM_CPU,
        };
        check_eps(as);
        check_clamped(as);
    }
    slice_close(&data);
}
