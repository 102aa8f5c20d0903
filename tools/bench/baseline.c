/* The plain kernels. */
#include "bench/baseline.h"

#include <stdlib.h>

#include "bench/stages.h"

enum { SAVED, WEIGHT_GRAD, BIAS_GRAD };
enum { GROUP = 256 };

static int add(stages *st, cl_program program)
{
    const scene *s = st->scene;
    const cl_mem *mem = s->job.tensors->mem;
    const cl_ulong samples = s->g.samples, channels = s->g.channels, plane = s->g.plane[0];
    const cl_ulong elements = s->g.elements;
    const cl_float eps = (cl_float)s->p.eps;
    const cl_int affine = s->p.affine;
    /* Of a layer without weights no gradients are stored, but dx needs them. */
    const cl_mem *weight_grad = affine ? &mem[TENSOR_WEIGHT_GRAD] : &st->buffer[WEIGHT_GRAD];
    const cl_mem *bias_grad = affine ? &mem[TENSOR_BIAS_GRAD] : &st->buffer[BIAS_GRAD];
    const bench_argument forward[] = {BENCH_ARG(mem[TENSOR_X]), BENCH_ARG(samples),
                                      BENCH_ARG(channels),      BENCH_ARG(plane),
                                      BENCH_ARG(eps),           BENCH_ARG(st->buffer[SAVED])};
    const bench_argument y[] = {BENCH_ARG(mem[TENSOR_X]),
                                BENCH_ARG(st->buffer[SAVED]),
                                BENCH_ARG(mem[TENSOR_WEIGHT]),
                                BENCH_ARG(mem[TENSOR_BIAS]),
                                BENCH_ARG(affine),
                                BENCH_ARG(channels),
                                BENCH_ARG(plane),
                                BENCH_ARG(elements),
                                BENCH_ARG(mem[TENSOR_Y])};
    const bench_argument backward[] = {BENCH_ARG(mem[TENSOR_X]),     BENCH_ARG(mem[TENSOR_DY]),
                                       BENCH_ARG(st->buffer[SAVED]), BENCH_ARG(samples),
                                       BENCH_ARG(channels),          BENCH_ARG(plane),
                                       BENCH_ARG(*weight_grad),      BENCH_ARG(*bias_grad)};
    const bench_argument dx[] = {BENCH_ARG(mem[TENSOR_X]),
                                 BENCH_ARG(mem[TENSOR_DY]),
                                 BENCH_ARG(st->buffer[SAVED]),
                                 BENCH_ARG(mem[TENSOR_WEIGHT]),
                                 BENCH_ARG(*weight_grad),
                                 BENCH_ARG(*bias_grad),
                                 BENCH_ARG(affine),
                                 BENCH_ARG(samples),
                                 BENCH_ARG(channels),
                                 BENCH_ARG(plane),
                                 BENCH_ARG(elements),
                                 BENCH_ARG(mem[TENSOR_DX])};
    int status = stages_add(st, BENCH_FORWARD, program, "baseline_forward", forward, 6,
                            channels * GROUP, GROUP);
    status = status ? status
                    : stages_add(st, BENCH_FORWARD, program, "baseline_y", y, 9, elements, GROUP);
    status = status ? status
                    : stages_add(st, BENCH_BACKWARD, program, "baseline_backward", backward, 8,
                                 channels * GROUP, GROUP);
    return status ? status
                  : stages_add(st, BENCH_BACKWARD, program, "baseline_dx", dx, 12, elements, GROUP);
}

int bench_baseline_open(scene *s, cl_program program, contender *made)
{
    stages *st = calloc(1, sizeof *st);
    if (!st)
        return job_failed_here(s->error, "baseline", SBN_OUT_OF_MEMORY);
    st->name = "baseline";
    st->scene = s;
    *made = stages_contender(st);
    int status = stages_buffer(st, SAVED, 2 * s->g.channels);
    status = status ? status : stages_buffer(st, WEIGHT_GRAD, s->g.channels);
    status = status ? status : stages_buffer(st, BIAS_GRAD, s->g.channels);
    status = status ? status : add(st, program);
    if (status)
        made->close(st);
    return status;
}
