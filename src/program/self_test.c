#include "program/self_test.h"

#include "base/error.h"
#include "base/memory.h"
#include "program/kernel_constants.h"
#include "program/self_test_rules.h"

/* The test has this on the device; every part may be missing. */
typedef struct on_device {
    cl_command_queue queue;
    cl_kernel kernel;
    cl_mem reals, integers, real_results, integer_results;
} on_device;

static cl_mem buffer_of(cl_context context, size_t size, void *contents, cl_int *code)
{
    cl_mem buffer = NULL;
    if (*code == CL_SUCCESS)
        buffer = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, size, contents,
                                code);
    if (*code != CL_SUCCESS)
        return NULL;
    sbn__handle_opened();
    return buffer;
}

static cl_int open_on_device(on_device *d, sbn_self_test_data *t, cl_program program,
                             cl_context context, cl_device_id device)
{
    cl_int code;
    d->queue = clCreateCommandQueue(context, device, 0, &code);
    if (code != CL_SUCCESS) {
        d->queue = NULL;
        return code;
    }
    sbn__handle_opened();
    d->kernel = clCreateKernel(program, "self_test", &code);
    if (code != CL_SUCCESS) {
        d->kernel = NULL;
        return code;
    }
    sbn__handle_opened();
    d->reals = buffer_of(context, sizeof t->reals, t->reals, &code);
    d->integers = buffer_of(context, sizeof t->integers, t->integers, &code);
    d->real_results = buffer_of(context, sizeof t->real_results, t->real_results, &code);
    d->integer_results = buffer_of(context, sizeof t->integer_results, t->integer_results, &code);
    return code;
}

static void close_on_device(on_device *d)
{
    const cl_mem buffers[] = {d->reals, d->integers, d->real_results, d->integer_results};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; ++i)
        if (buffers[i]) {
            clReleaseMemObject(buffers[i]);
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

static cl_int run_on_device(on_device *d, sbn_self_test_data *t, sbn_kernel_form form)
{
    const cl_uint terms = SBN_SELF_TEST_TERMS;
    const struct {
        size_t size;
        const void *value;
    } arguments[] = {{sizeof(cl_mem), &d->reals},
                     {sizeof(cl_mem), &d->integers},
                     {sizeof terms, &terms},
                     {sizeof(cl_mem), &d->real_results},
                     {sizeof(cl_mem), &d->integer_results}};
    const size_t items = (size_t)sbn__form_sizes(form)->self_test_items;
    cl_int code = CL_SUCCESS;
    for (cl_uint i = 0; i < sizeof arguments / sizeof *arguments && code == CL_SUCCESS; ++i)
        code = clSetKernelArg(d->kernel, i, arguments[i].size, arguments[i].value);
    if (code == CL_SUCCESS)
        code = clEnqueueNDRangeKernel(d->queue, d->kernel, 1, NULL, &items, &items, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(d->queue, d->real_results, CL_TRUE, 0, sizeof t->real_results,
                                   t->real_results, 0, NULL, NULL);
    if (code == CL_SUCCESS)
        code = clEnqueueReadBuffer(d->queue, d->integer_results, CL_TRUE, 0,
                                   sizeof t->integer_results, t->integer_results, 0, NULL, NULL);
    return code;
}

int sbn__self_test(const sbn_program *program)
{
    sbn_self_test_data t;
    on_device d = {0};
    char name[128] = "?", broken[256];
    sbn__self_test_fill(&t);
    cl_int code = open_on_device(&d, &t, program->programs[SBN_PROGRAM_APPLY], program->context,
                                 program->device);
    if (code == CL_SUCCESS)
        code = run_on_device(&d, &t, program->form);
    close_on_device(&d);
    clGetDeviceInfo(program->device, CL_DEVICE_NAME, sizeof name, name, NULL);
    if (code != CL_SUCCESS)
        return sbn__fail(code, "the self-test of device \"%s\" cannot run: %s", name,
                         sbn_strerror(code));
    if (!sbn__self_test_judge(&t, broken, sizeof broken))
        return sbn__fail(SBN_UNSUPPORTED_DEVICE,
                         "device \"%s\" breaks a rule of arithmetic that results rest on: %s", name,
                         broken);
    return SBN_SUCCESS;
}
