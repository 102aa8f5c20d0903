#include "program/self_test_storage.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/self_test_rules.h"

enum { CASES = SBN_SELF_TEST_CASES };

/* Of a type: elements and their values; values and the elements nearest to them. */
typedef struct rules {
    struct {
        uint16_t element;
        float value;
    } widened[CASES];
    struct {
        float value;
        uint16_t element;
    } rounded[CASES];
} rules;

/* Subnormal halves among them; of bfloat16s none, as of floats: devices may flush those. */
static const rules of_f16 = {
    {{0x0001, 0x1p-24f},
     {0x8001, -0x1p-24f},
     {0x03ff, 0x1.ff8p-15f},
     {0x8200, -0x1p-15f},
     {0x0400, 0x1p-14f},
     {0x3c00, 1.0f},
     {0xbc01, -0x1.004p0f},
     {0x3555, 0x1.554p-2f},
     {0x5bff, 0x1.ffcp7f},
     {0x7bff, 65504.0f},
     {0xfbff, -65504.0f},
     {0x7c00, INFINITY},
     {0xfc00, -INFINITY},
     {0x7e00, NAN},
     {0x0000, 0.0f},
     {0x8000, -0.0f}},
    {{0x1p-25f, 0x0000},
     {0x1.000002p-25f, 0x0001},
     {-0x1.8p-24f, 0x8002},
     {0x1p-24f, 0x0001},
     {0x1.ffcp-15f, 0x0400},
     {-0x1.ffbffep-15f, 0x83ff},
     {0x1p-100f, 0x0000},
     {0x1.002p0f, 0x3c00},
     {-0x1.006p0f, 0xbc02},
     {0x1.002002p0f, 0x3c01},
     {65519.996f, 0x7bff},
     {65520.0f, 0x7c00},
     {-0x1p127f, 0xfc00},
     {INFINITY, 0x7c00},
     {NAN, 0x7e00},
     {-0.0f, 0x8000}},
};
static const rules of_bf16 = {
    {{0x3f80, 1.0f},
     {0xbf81, -0x1.02p0f},
     {0x0080, 0x1p-126f},
     {0x80ff, -0x1.fep-126f},
     {0x7f7f, 0x1.fep127f},
     {0xff7f, -0x1.fep127f},
     {0x7f80, INFINITY},
     {0xff80, -INFINITY},
     {0x7fc0, NAN},
     {0x0000, 0.0f},
     {0x8000, -0.0f},
     {0x4049, 0x1.92p1f},
     {0x3eab, 0x1.56p-2f},
     {0xc2f7, -0x1.eep6f},
     {0x2000, 0x1p-63f},
     {0x5f01, 0x1.02p63f}},
    {{0x1.01p0f, 0x3f80},
     {-0x1.03p0f, 0xbf82},
     {0x1.010002p0f, 0x3f81},
     {0x1.00fffep0f, 0x3f80},
     {0x1.fefffep127f, 0x7f7f},
     {0x1.ffp127f, 0x7f80},
     {-0x1.fffffep127f, 0xff80},
     {INFINITY, 0x7f80},
     {-INFINITY, 0xff80},
     {NAN, 0x7fc0},
     {0x1.ffp-1f, 0x3f80},
     {0x1p-126f, 0x0080},
     {-0x1.01p-126f, 0x8080},
     {0.0f, 0x0000},
     {-0.0f, 0x8000},
     {0x1.fffffep-10f, 0x3b00}},
};

/* The kernel's arguments on the host; results twice, of vectors and one by one. */
typedef struct data {
    uint16_t elements[CASES];
    float values[CASES], widened[2 * CASES];
    uint16_t rounded[2 * CASES];
} data;

enum { ELEMENTS, VALUES, WIDENED, ROUNDED, BUFFERS };

typedef struct on_device {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem buffers[BUFFERS];
} on_device;

static cl_int open_on_device(on_device *d, const sbn_program *program, data *t)
{
    void *const contents[BUFFERS] = {t->elements, t->values, t->widened, t->rounded};
    const size_t sizes[BUFFERS] = {sizeof t->elements, sizeof t->values, sizeof t->widened,
                                   sizeof t->rounded};
    cl_int code;
    cl_command_queue queue = clCreateCommandQueue(program->context, program->device, 0, &code);
    if (code != CL_SUCCESS)
        return code;
    sbn__handle_opened();
    d->queue = queue;
    cl_kernel kernel = clCreateKernel(program->programs[SBN_PROGRAM_APPLY], "self_test_storage",
                                      &code);
    if (code != CL_SUCCESS)
        return code;
    sbn__handle_opened();
    d->kernel = kernel;
    for (cl_uint i = 0; i < BUFFERS && code == CL_SUCCESS; ++i) {
        cl_mem buffer = clCreateBuffer(program->context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                       sizes[i], contents[i], &code);
        if (code != CL_SUCCESS)
            return code;
        sbn__handle_opened();
        d->buffers[i] = buffer;
        code = clSetKernelArg(d->kernel, i, sizeof buffer, &buffer);
    }
    return code;
}

static void close_on_device(on_device *d)
{
    for (size_t i = 0; i < BUFFERS; ++i)
        if (d->buffers[i]) {
            clReleaseMemObject(d->buffers[i]);
            sbn__handle_closed();
        }
    if (d->kernel) {
        clReleaseKernel(d->kernel);
        sbn__handle_closed();
    }
    if (d->queue) {
        clReleaseCommandQueue(d->queue);
        sbn__handle_closed();
    }
}

static cl_int run_on_device(const on_device *d, data *t)
{
    const size_t one = 1;
    cl_int code = clEnqueueNDRangeKernel(d->queue, d->kernel, 1, NULL, &one, &one, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(d->queue, d->buffers[WIDENED], CL_TRUE, 0, sizeof t->widened,
                                   t->widened, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(d->queue, d->buffers[ROUNDED], CL_TRUE, 0, sizeof t->rounded,
                                   t->rounded, 0, NULL, NULL);
    return code;
}

/* Results that are wrong unless the kernel overwrites them. */
static void fill(data *t, const rules *r)
{
    memset(t, 0xa5, sizeof *t);
    for (size_t i = 0; i < CASES; ++i) {
        t->elements[i] = r->widened[i].element;
        t->values[i] = r->rounded[i].value;
    }
}

/* The bits of a NaN may be any. */
static int judge(const data *t, const rules *r, sbn_type type, char *text, size_t size)
{
    const uint16_t infinity = type == SBN_F16 ? 0x7c00 : 0x7f80;
    for (size_t i = 0; i < 2 * CASES; ++i) {
        const float value = r->widened[i % CASES].value;
        if (isnan(value) ? !isnan(t->widened[i])
                         : memcmp(&t->widened[i], &value, sizeof value) != 0) {
            snprintf(text, size, "an element is widened exactly: 0x%04x: expected %a, got %a",
                     r->widened[i % CASES].element, (double)value, (double)t->widened[i]);
            return 0;
        }
        const uint16_t element = r->rounded[i % CASES].element;
        if ((element & 0x7fff) > infinity ? (t->rounded[i] & 0x7fff) <= infinity
                                          : t->rounded[i] != element) {
            snprintf(text, size,
                     "a result is rounded to the nearest element, ties to even: %a: expected "
                     "0x%04x, got 0x%04x",
                     (double)r->rounded[i % CASES].value, element, t->rounded[i]);
            return 0;
        }
    }
    return 1;
}

int sbn__self_test_storage(const sbn_program *program)
{
    const rules *r = program->type == SBN_F16 ? &of_f16 : &of_bf16;
    data t;
    on_device d = {0};
    char name[128] = "?", broken[160];
    if (program->type == SBN_F32)
        return SBN_SUCCESS;
    fill(&t, r);
    cl_int code = open_on_device(&d, program, &t);
    if (code == CL_SUCCESS)
        code = run_on_device(&d, &t);
    close_on_device(&d);
    clGetDeviceInfo(program->device, CL_DEVICE_NAME, sizeof name, name, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "the self-test of device \"%s\" cannot run: %s", name,
                         sbn_strerror(code));
    if (!judge(&t, r, program->type, broken, sizeof broken))
        return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                         "device \"%s\" breaks a rule of storage that results rest on: %s", name,
                         broken);
    return SBN_SUCCESS;
}
