#include "tools/bench_faults.h"

#include "program/opencl.h"

static long skipped = -1, count;

void bench_skip(long number)
{
    skipped = number;
    count = 0;
}

long bench_commands(void)
{
    return count;
}

#define WRAP(result, function, parameters) \
    result __real_##function parameters; \
    result __wrap_##function parameters; \
    result __wrap_##function parameters

/* In place of a command: what waits for it goes on. */
static cl_int nothing(cl_command_queue queue, cl_uint num_wait, const cl_event *wait_list,
                      cl_event *event)
{
    return event ? clEnqueueMarkerWithWaitList(queue, num_wait, wait_list, event) : CL_SUCCESS;
}

WRAP(cl_int, clEnqueueNDRangeKernel,
     (cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
      const size_t *global, const size_t *local, cl_uint num_wait, const cl_event *wait_list,
      cl_event *event))
{
    return count++ == skipped
               ? nothing(queue, num_wait, wait_list, event)
               : __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local,
                                               num_wait, wait_list, event);
}

WRAP(cl_int, clEnqueueCopyBuffer,
     (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset, size_t to_offset,
      size_t size, cl_uint num_wait, const cl_event *wait_list, cl_event *event))
{
    return count++ == skipped ? nothing(queue, num_wait, wait_list, event)
                              : __real_clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset,
                                                           size, num_wait, wait_list, event);
}

#ifdef HAVE_DNNL
#include <dnnl.h>

WRAP(dnnl_status_t, dnnl_primitive_execute,
     (const_dnnl_primitive_t primitive, dnnl_stream_t stream, int arguments,
      const dnnl_exec_arg_t *list))
{
    return count++ == skipped ? dnnl_success
                              : __real_dnnl_primitive_execute(primitive, stream, arguments, list);
}
#endif
