/*
 * Every half and every bfloat16, evaluated with mean 0, variance 1, eps 0 and weights that make
 * results exact, ties, subnormal and too large: y is the product rounded as the C library does it
 * (tests/support/storage.c). On every device, in both forms and layouts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"
#include "support/sample.h"
#include "support/storage.h"
#include "support/trial.h"
#include "support/wraps.h"

enum { VALUES = 1 << 16, CHANNELS = 12, ELEMENTS = VALUES * CHANNELS, BEFORE = 3 };

/* Of halves, and of bfloat16s: the last place of their mantissas is 2^-10, and 2^-7. */
static const float weights[2][CHANNELS] = {
    {1.0f, -1.0f, 0x1.002p0f, 0x1.002002p0f, 0x1.001ffep0f, 0x1.006p0f, 0x1p-10f, 0x1.8p-10f,
     0x1p-25f, 0x1.554p-16f, 0x1.ffep0f, 0x1p20f},
    {1.0f, -1.0f, 0x1.01p0f, 0x1.010002p0f, 0x1.00fffep0f, 0x1.03p0f, 0x1p-100f, 0x1.8p-120f,
     0x1p-133f, 0x1.54p-64f, 0x1.ffp0f, 0x1p100f},
};

static size_t place_of(sbn_layout layout, size_t channel, size_t i)
{
    return BEFORE + (layout == SBN_LAYOUT_NCHW ? channel * VALUES + i : i * CHANNELS + channel);
}

static int is_denormal(float value)
{
    return value != 0.0f && fabsf(value) < 0x1p-126f;
}

/* A device may read and write 0 for floats below the least normal one, if it says so. */
static int may_be(sbn_type type, uint32_t got, float x, float weight, int flushes)
{
    const float product = fmaf(weight, x, 0.0f), y = product == 0.0f ? 0.0f : product;
    if (storage_same(type, got, storage_round(type, y)))
        return 1;
    return flushes && (is_denormal(x) || is_denormal(y) || is_denormal(weight)) &&
           (got & 0x7fff) == 0;
}

static void check_all(const device_info *info, cl_context context, cl_command_queue queue,
                      sbn_group *group, sbn_kernel_form form, sbn_type type, sbn_layout layout)
{
    const float *own = weights[type == SBN_BF16], zeros[CHANNELS] = {0.0f};
    const size_t bytes = sizeof(uint16_t) * (BEFORE + ELEMENTS);
    cl_device_fp_config config = 0;
    uint16_t *elements = calloc(1, bytes);
    sbn_batchnorm_config settings = SBN_BATCHNORM_CONFIG_INIT;
    sbn_shard shard = SBN_SHARD_INIT;
    sbn_batchnorm *layer;
    cl_int code;
    must(elements ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    must(clGetDeviceInfo(info->id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL),
         "clGetDeviceInfo");
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t i = 0; i < VALUES; ++i)
            elements[place_of(layout, c, i)] = (uint16_t)i;
    settings.channels = CHANNELS;
    settings.layout = layout;
    settings.type = type;
    settings.eps = 0.0;
    must(sbn_batchnorm_create(group, &settings, &layer), "sbn_batchnorm_create");
    const void *const contents[] = {elements, elements, own, zeros};
    const size_t sizes[] = {bytes, bytes, sizeof weights[0], sizeof zeros};
    cl_mem mems[4];
    for (size_t i = 0; i < 4; ++i) {
        mems[i] = clCreateBuffer(context, CL_MEM_READ_WRITE, sizes[i], NULL, &code);
        must(code, "clCreateBuffer");
        must(clEnqueueWriteBuffer(queue, mems[i], CL_TRUE, 0, sizes[i], contents[i], 0, NULL, NULL),
             "clEnqueueWriteBuffer");
    }
    shard.dims = 3;
    shard.shape[0] = 1;
    shard.shape[1] = CHANNELS;
    shard.shape[2] = VALUES;
    shard.x = (sbn_buffer){mems[0], BEFORE};
    shard.y = (sbn_buffer){mems[1], BEFORE};
    shard.weight = (sbn_buffer){mems[2], 0};
    shard.bias = (sbn_buffer){mems[3], 0};
    must(sbn_evaluate(layer, &shard), "sbn_evaluate");
    must(clEnqueueReadBuffer(queue, mems[1], CL_TRUE, 0, bytes, elements, 0, NULL, NULL),
         "clEnqueueReadBuffer");
    size_t wrong = 0, first = 0;
    for (size_t c = 0; c < CHANNELS; ++c)
        for (size_t i = 0; i < VALUES; ++i)
            if (!may_be(type, elements[place_of(layout, c, i)], storage_widen(type, (uint32_t)i),
                        own[c], !(config & CL_FP_DENORM)) &&
                wrong++ == 0)
                first = c * VALUES + i;
    const size_t c = first / VALUES, i = first % VALUES;
    const float x = storage_widen(type, (uint32_t)i);
    tap_ok(wrong == 0,
           "%s, %s form, %s, %s: %zu of %d are wrong, the first 0x%04zx times %a: expected 0x%04x, "
           "got 0x%04x",
           info->name, form == SBN_FORM_CPU ? "CPU" : "GPU", storage_name(type),
           layout == SBN_LAYOUT_NCHW ? "channels first" : "channels last", wrong, ELEMENTS, i,
           (double)own[c], (unsigned)storage_round(type, own[c] * x),
           elements[place_of(layout, c, i)]);
    for (size_t m = 0; m < 4; ++m)
        clReleaseMemObject(mems[m]);
    must(sbn_batchnorm_destroy(layer), "sbn_batchnorm_destroy");
    free(elements);
}

/* By the kernels as they are, then by integers where these leave halves to others. */
static void check_device(const device_info *info)
{
    static const char *const others[] =
        {[SBN_FORM_CPU] = "#define F16C ", [SBN_FORM_GPU] = "#define HALF_FUNCTIONS "};
    cl_int code;
    cl_device_id device = info->id;
    cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "clCreateContext");
    cl_command_queue queue = clCreateCommandQueue(context, device, 0, &code);
    must(code, "clCreateCommandQueue");
    /* A sample of a device that has the GPU form alone has two of the four. */
    const int step = sample_only() && info->form == SBN_FORM_GPU ? 3 : 1;
    for (sbn_kernel_form form = info->form; form <= SBN_FORM_GPU; ++form) {
        sbn_group *group = fixture_group(queue, 1, form);
        for (int which = 0; which < 4; which += step)
            check_all(info, context, queue, group, form, which < 2 ? SBN_F16 : SBN_BF16,
                      which % 2 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW);
        must(sbn_group_destroy(group), "sbn_group_destroy");
        char chosen[40], instead[40];
        snprintf(chosen, sizeof chosen, "%s1", others[form]);
        snprintf(instead, sizeof instead, "%s0", others[form]);
        wraps_replace(chosen, instead);
        group = fixture_group(queue, 1, form);
        check_all(info, context, queue, group, form, SBN_F16, SBN_LAYOUT_NCHW);
        check_all(info, context, queue, group, form, SBN_F16, SBN_LAYOUT_NHWC);
        must(sbn_group_destroy(group), "sbn_group_destroy");
        tap_ok(wraps_replaced() > 0, "%d places replaced", wraps_replaced());
        wraps_replace(NULL, NULL);
    }
    clReleaseCommandQueue(queue);
    clReleaseContext(context);
}

int main(void)
{
    trial_usable_devices(check_device);
    return tap_done();
}
