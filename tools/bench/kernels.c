#include "bench/kernels.h"

#include <stdio.h>
#include <stdlib.h>

/* Of all .cl files of tools/bench, embedded at build. */
extern const char bench_source[];
extern const size_t bench_source_length;

/* The compiler's log, as far as it fits. */
static int build_failed(scene *s, cl_int status)
{
    const cl_device_id device = s->replica->device;
    size_t size = 0;
    clGetProgramBuildInfo(s->program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size);
    char *log = calloc(size + 1, 1);
    if (log)
        clGetProgramBuildInfo(s->program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    snprintf(s->error, sizeof s->error, "building the benchmark's kernels: %s: %s",
             sbn_strerror(status), log ? log : "");
    free(log);
    return status;
}

int bench_program_make(scene *s)
{
    cl_int status;
    const sbn_replica *on = s->replica;
    const char *options = on->form == SBN_FORM_GPU ? "-cl-std=CL1.2 -DGPU_FORM" : "-cl-std=CL1.2";
    s->program = clCreateProgramWithSource(on->context, 1, (const char *[]){bench_source},
                                           (const size_t[]){bench_source_length}, &status);
    if (status)
        return job_failed_here(s->error, "clCreateProgramWithSource", status);
    status = clBuildProgram(s->program, 1, &on->device, options, NULL, NULL);
    return status ? build_failed(s, status) : SBN_SUCCESS;
}

int bench_kernel_make(scene *s, const char *name, const sbn_argument *arguments, size_t count,
                      size_t items, size_t local, bench_kernel *made)
{
    cl_int status;
    *made = (bench_kernel){.items = (items + local - 1) / local * local, .local = local};
    made->kernel = clCreateKernel(s->program, name, &status);
    if (status) {
        made->kernel = NULL;
        return status == CL_INVALID_KERNEL_NAME ? SBN_SUCCESS
                                                : job_failed_here(s->error, name, status);
    }
    for (size_t i = 0; i < count && !status; ++i)
        status = clSetKernelArg(made->kernel, (cl_uint)i, arguments[i].size, arguments[i].value);
    return status ? job_failed_here(s->error, name, status) : SBN_SUCCESS;
}

void bench_kernel_release(bench_kernel *k)
{
    if (k->kernel) {
        clReleaseKernel(k->kernel);
        k->kernel = NULL;
    }
}

int bench_buffer_make(scene *s, size_t floats, cl_mem *made)
{
    cl_int status;
    *made = clCreateBuffer(s->replica->context, CL_MEM_READ_WRITE, floats * sizeof(float), NULL,
                           &status);
    return status ? job_failed_here(s->error, "clCreateBuffer", status) : SBN_SUCCESS;
}

int bench_enqueue(scene *s, const bench_kernel *k)
{
    if (!k->kernel)
        return SBN_SUCCESS;
    cl_int status = clEnqueueNDRangeKernel(s->replica->queue, k->kernel, 1, NULL, &k->items,
                                           &k->local, 0, NULL, NULL);
    return status ? job_failed_here(s->error, "clEnqueueNDRangeKernel", status) : SBN_SUCCESS;
}
