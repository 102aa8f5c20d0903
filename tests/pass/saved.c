/*
 * What doc/order.md says of saved statistics and <syncbn/batchnorm.h> of eps 0: the variance's last bit, and
 * where NaN comes from. Planes of one element, so that sums are exact but for what is cut off.
 */
#include <math.h>
#include <string.h>

#include "support/fixture.h"

enum { SAMPLES = 8 };

static fixture device;
static cl_command_queue queue;
static slice data;

typedef struct life {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
} life;

static life make(double eps)
{
    life l = {.group = fixture_group(queue, 1, SBN_FORM_AUTO)};
    sbn_batchnorm_config of_layer = SBN_BATCHNORM_CONFIG_INIT;
    of_layer.channels = 1;
    of_layer.eps = eps;
    must(sbn_batchnorm_create(l.group, &of_layer, &l.layer), "sbn_batchnorm_create");
    must(sbn_saved_create(l.layer, &l.saved), "sbn_saved_create");
    return l;
}

static void end(const life *l)
{
    must(sbn_saved_destroy(l->saved), "sbn_saved_destroy");
    must(sbn_batchnorm_destroy(l->layer), "sbn_batchnorm_destroy");
    must(sbn_group_destroy(l->group), "sbn_group_destroy");
}

static void put(const sbn_buffer *buffer, const float *values)
{
    must(clEnqueueWriteBuffer(queue, buffer->mem, CL_TRUE, sizeof(float) * buffer->offset,
                              sizeof(float) * SAMPLES, values, 0, NULL, NULL),
         "clEnqueueWriteBuffer");
}

/* Half of the elements are 2^scale, half are larger by a unit in the last place. */
static void variance(double eps, int scale, float *mean, float *var)
{
    float x[SAMPLES];
    const life l = make(eps);
    for (int i = 0; i < SAMPLES; ++i)
        x[i] = ldexpf(i % 2 ? 0x1.000002p0f : 1.0f, scale);
    put(&data.shard.x, x);
    must(sbn_forward(l.layer, &data.shard, l.saved, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
    must(sbn_saved_stats(l.saved, mean, var, NULL), "sbn_saved_get");
    end(&l);
}

static void check_variance(void)
{
    const double cut = 0x1p-78;
    int far_off = 0;
    for (int scale = -40; scale <= 10; ++scale) {
        float mean, var;
        const double exact_mean = ldexp(1.0 + 0x1p-24, scale), exact = ldexp(0x1p-48, 2 * scale);
        variance(1e-5, scale, &mean, &var);
        const double off = fabs((double)var - exact);
        if (off > cut || fabs(mean - exact_mean) > 0x1p-63 + ldexp(0x1p-24, scale))
            tap_ok(0, "2^%d: mean %a of %a, variance %a of %a", scale, (double)mean, exact_mean,
                   (double)var, exact);
        far_off += exact < cut && off > exact / 2;
        variance(0.0, scale, &mean, &var);
        if ((double)var != exact || mean != (float)exact_mean)
            tap_ok(0, "2^%d, eps 0: mean %a of %a, variance %a of %a", scale, (double)mean,
                   exact_mean, (double)var, exact);
    }
    tap_ok(1, "variances down to 2^-128: within 2^-78 with eps 1e-5, exact with eps 0");
    tap_ok(far_off > 0, "below 2^-78 the variance was lost %d times", far_off);
}

/* All of y, or of dx, are NaN. */
static int all_nan(const sbn_buffer *buffer)
{
    float values[SAMPLES];
    int all = 1;
    buffer_read(&data, buffer, SAMPLES, values);
    for (int i = 0; i < SAMPLES; ++i)
        all = all && isnan(values[i]);
    return all;
}

static void check_eps(void)
{
    const float zero = 0.0f, constant[SAMPLES] = {1, 1, 1, 1, 1, 1, 1, 1};
    const float values[SAMPLES] = {0, 1, -1, 2, -2, 3, -3, 4};
    const life l = make(0.0);
    put(&data.shard.x, constant);
    put(&data.shard.dy, values);
    slice_reset(&data);
    must(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_forward");
    tap_ok(all_nan(&data.shard.y), "eps 0, training: y of a constant channel is NaN");
    must(sbn_backward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_backward");
    tap_ok(all_nan(&data.shard.dx), "eps 0, training: dx of a constant channel is NaN");
    must(sbn_batchnorm_set_running_stats(l.layer, &zero, &zero, NULL), "set");
    put(&data.shard.x, values);
    slice_reset(&data);
    must(sbn_evaluate(l.layer, &data.shard), "sbn_evaluate");
    tap_ok(all_nan(&data.shard.y), "eps 0, evaluation: y of a variance of 0 is NaN");
    must(sbn_batchnorm_set_frozen(l.layer, 1), "freeze");
    slice_reset(&data);
    must(sbn_forward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_forward");
    tap_ok(all_nan(&data.shard.y), "eps 0, frozen: y of a variance of 0 is NaN");
    must(sbn_backward(l.layer, &data.shard, l.saved, 0, NULL), "sbn_backward");
    tap_ok(all_nan(&data.shard.dx), "eps 0, frozen: dx of a variance of 0 is NaN");
    end(&l);
}

static void checks(void)
{
    slice_open(&data, &device, queue, 0, SAMPLES, 1, 1, 1);
    const life kept = make(1.0); /* so that the kernels are built once */
    check_variance();
    check_eps();
    end(&kept);
    slice_close(&data);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
