#include "tools/bench_faults.h"

#include <string.h>

#include "support/fixture.h"

static bench_fault wrong;

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                                     const size_t *offset, const size_t *global,
                                     const size_t *local, cl_uint num_wait,
                                     const cl_event *wait_list, cl_event *event)
{
    char name[64] = "";
    if (wrong.kernel) {
        must(clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL),
             "clGetKernelInfo");
        if (strcmp(name, wrong.kernel) == 0)
            return CL_SUCCESS;
    }
    return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, num_wait,
                                         wait_list, event);
}

cl_int __real_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event);
cl_int __wrap_clEnqueueCopyBuffer(cl_command_queue queue, cl_mem from, cl_mem to,
                                  size_t from_offset, size_t to_offset, size_t size,
                                  cl_uint num_wait, const cl_event *wait_list, cl_event *event)
{
    /* All but the last float: a copy that is nearly right. */
    return __real_clEnqueueCopyBuffer(queue, from, to, from_offset, to_offset,
                                      size - (wrong.copy ? sizeof(float) : 0), num_wait, wait_list,
                                      event);
}

/* Whose forward passes a run had: the first layer, and the latest other. */
static const sbn_batchnorm *layers[2];

void bench_plant(bench_fault fault)
{
    wrong = fault;
    layers[0] = layers[1] = NULL;
}

int __real_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);
int __wrap_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards);
int __wrap_sbn_evaluate(sbn_batchnorm *layer, const sbn_shard *shards)
{
    return wrong.evaluate ? SBN_SUCCESS : __real_sbn_evaluate(layer, shards);
}

static int is_of_halves_alone(const sbn_batchnorm *layer)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    must(sbn_batchnorm_settings(layer, &config), "sbn_batchnorm_settings");
    return config.type == SBN_F16 && config.activation == SBN_IDENTITY;
}

int __real_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result);
int __wrap_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result);
int __wrap_sbn_forward(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                       unsigned flags, sbn_result *result)
{
    static int first, alone;
    if (wrong.other_layer && layer != layers[0] && layer == layers[1])
        return SBN_SUCCESS;
    if (wrong.other_layer)
        layers[layers[0] != NULL && layer != layers[0]] = layer;
    /* The first fills `saved`, without which backward would be an error. */
    if (wrong.halves_alone && is_of_halves_alone(layer) && alone++)
        return SBN_SUCCESS;
    if (wrong.forward && shards->shape[0] == wrong.forward && first++)
        return SBN_SUCCESS;
    return __real_sbn_forward(layer, shards, saved, flags, result);
}

int __real_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass);
int __wrap_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass);
int __wrap_sbn_forward_begin(sbn_batchnorm *layer, const sbn_shard *shards, sbn_saved *saved,
                             unsigned flags, sbn_pass **pass)
{
    sbn_shard shard = *shards;
    if (wrong.begin && shard.shape[0] == wrong.begin) {
        shard.x = shard.dy;
        return __real_sbn_forward_begin(layer, &shard, saved, flags, pass);
    }
    return __real_sbn_forward_begin(layer, shards, saved, flags, pass);
}

#ifdef HAVE_DNNL
#include <dnnl.h>

dnnl_status_t __real_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments);
dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments);
dnnl_status_t __wrap_dnnl_primitive_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream,
                                            int count, const dnnl_exec_arg_t *arguments)
{
    /* A reorder has two arguments. */
    int pass = count > 2 ? ONEDNN_FORWARD : 0;
    for (int i = 0; i < count; ++i)
        if (arguments[i].arg == DNNL_ARG_DIFF_SRC)
            pass = ONEDNN_BACKWARD;
    return pass && pass == wrong.onednn
               ? dnnl_success
               : __real_dnnl_primitive_execute(primitive, stream, count, arguments);
}
#endif
