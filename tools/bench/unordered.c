/* The contender of unordered sums: its kernels and their arguments. */
#include "bench/unordered.h"

#include <stdlib.h>

#include "bench/stages.h"
#include "bench/unordered_cut.h"

enum { PARTIAL, SAVED, TABLE };
static int add_forward(stages *st, cl_program program, const bench_cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane, first = k->rows ? 1 : k->plane;
    const cl_float n = (cl_float)rows, eps = (cl_float)st->scene->p.eps;
    const cl_int affine = st->scene->p.affine;
    const bench_argument of_planes[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(k->samples),
                                        BENCH_ARG(k->channels),        BENCH_ARG(k->plane),
                                        BENCH_ARG(k->block),           BENCH_ARG(k->slice),
                                        BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument of_rows[] = {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(rows),
                                      BENCH_ARG(k->channels), BENCH_ARG(k->slice),
                                      BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument finish[] = {BENCH_ARG(st->buffer[PARTIAL]),
                                     BENCH_ARG(k->slices),
                                     BENCH_ARG(t->mem[TENSOR_X]),
                                     BENCH_ARG(first),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(n),
                                     BENCH_ARG(eps),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                     BENCH_ARG(t->mem[TENSOR_BIAS]),
                                     BENCH_ARG(affine),
                                     BENCH_ARG(st->buffer[SAVED]),
                                     BENCH_ARG(st->buffer[TABLE])};
    const bench_argument y_planes[] = {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(st->buffer[TABLE]),
                                       BENCH_ARG(k->samples),       BENCH_ARG(k->channels),
                                       BENCH_ARG(k->plane),         BENCH_ARG(k->run),
                                       BENCH_ARG(t->mem[TENSOR_Y])};
    const bench_argument y_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                     BENCH_ARG(st->buffer[TABLE]),
                                     BENCH_ARG(rows),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(k->run),
                                     BENCH_ARG(t->mem[TENSOR_Y])};
    const bench_argument whole[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                    BENCH_ARG(k->samples),
                                    BENCH_ARG(k->channels),
                                    BENCH_ARG(k->plane),
                                    BENCH_ARG(k->whole),
                                    BENCH_ARG(n),
                                    BENCH_ARG(eps),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                    BENCH_ARG(t->mem[TENSOR_BIAS]),
                                    BENCH_ARG(affine),
                                    BENCH_ARG(st->buffer[SAVED]),
                                    BENCH_ARG(st->buffer[TABLE]),
                                    BENCH_ARG(k->streams),
                                    BENCH_ARG(t->mem[TENSOR_Y])};
    if (k->whole)
        return stages_add(st, BENCH_FORWARD, program, "whole_forward", whole, 14, k->whole_items,
                          1);
    int status = k->rows ? stages_add(st, BENCH_FORWARD, program, "rows_forward", of_rows, 5,
                                      k->sum_items, k->sum_local)
                         : stages_add(st, BENCH_FORWARD, program, "planes_forward", of_planes, 7,
                                      k->sum_items, k->sum_local);
    status = status ? status
                    : stages_add(st, BENCH_FORWARD, program, "finish_forward", finish, 12,
                                 k->channels, 64);
    return status    ? status
           : k->rows ? stages_add(st, BENCH_FORWARD, program, "rows_y", y_rows, 6, k->apply_items,
                                  k->apply_local)
                     : stages_add(st, BENCH_FORWARD, program, "planes_y", y_planes, 7,
                                  k->apply_items, k->apply_local);
}

static int add_backward(stages *st, cl_program program, const bench_cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane;
    const cl_float n = (cl_float)rows;
    const cl_int affine = st->scene->p.affine;
    const bench_argument of_planes[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(t->mem[TENSOR_DY]),
                                        BENCH_ARG(st->buffer[SAVED]),  BENCH_ARG(k->samples),
                                        BENCH_ARG(k->channels),        BENCH_ARG(k->plane),
                                        BENCH_ARG(k->block),           BENCH_ARG(k->slice),
                                        BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument of_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),   BENCH_ARG(t->mem[TENSOR_DY]),
                                      BENCH_ARG(st->buffer[SAVED]),  BENCH_ARG(rows),
                                      BENCH_ARG(k->channels),        BENCH_ARG(k->slice),
                                      BENCH_ARG(st->buffer[PARTIAL])};
    const bench_argument finish[] = {BENCH_ARG(st->buffer[PARTIAL]),
                                     BENCH_ARG(k->slices),
                                     BENCH_ARG(k->channels),
                                     BENCH_ARG(n),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                     BENCH_ARG(affine),
                                     BENCH_ARG(st->buffer[SAVED]),
                                     BENCH_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                     BENCH_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                     BENCH_ARG(st->buffer[TABLE])};
    const bench_argument dx_planes[] =
        {BENCH_ARG(t->mem[TENSOR_X]), BENCH_ARG(t->mem[TENSOR_DY]), BENCH_ARG(st->buffer[TABLE]),
         BENCH_ARG(k->samples),       BENCH_ARG(k->channels),       BENCH_ARG(k->plane),
         BENCH_ARG(k->run),           BENCH_ARG(t->mem[TENSOR_DX])};
    const bench_argument dx_rows[] = {BENCH_ARG(t->mem[TENSOR_X]),  BENCH_ARG(t->mem[TENSOR_DY]),
                                      BENCH_ARG(st->buffer[TABLE]), BENCH_ARG(rows),
                                      BENCH_ARG(k->channels),       BENCH_ARG(k->run),
                                      BENCH_ARG(t->mem[TENSOR_DX])};
    const bench_argument whole[] = {BENCH_ARG(t->mem[TENSOR_X]),
                                    BENCH_ARG(t->mem[TENSOR_DY]),
                                    BENCH_ARG(k->samples),
                                    BENCH_ARG(k->channels),
                                    BENCH_ARG(k->plane),
                                    BENCH_ARG(k->whole),
                                    BENCH_ARG(n),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT]),
                                    BENCH_ARG(affine),
                                    BENCH_ARG(st->buffer[SAVED]),
                                    BENCH_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                    BENCH_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                    BENCH_ARG(st->buffer[TABLE]),
                                    BENCH_ARG(k->streams),
                                    BENCH_ARG(t->mem[TENSOR_DX])};
    if (k->whole)
        return stages_add(st, BENCH_BACKWARD, program, "whole_backward", whole, 15, k->whole_items,
                          1);
    int status = k->rows ? stages_add(st, BENCH_BACKWARD, program, "rows_backward", of_rows, 7,
                                      k->sum_items, k->sum_local)
                         : stages_add(st, BENCH_BACKWARD, program, "planes_backward", of_planes, 9,
                                      k->sum_items, k->sum_local);
    status = status ? status
                    : stages_add(st, BENCH_BACKWARD, program, "finish_backward", finish, 10,
                                 k->channels, 64);
    return status    ? status
           : k->rows ? stages_add(st, BENCH_BACKWARD, program, "rows_dx", dx_rows, 7,
                                  k->apply_items, k->apply_local)
                     : stages_add(st, BENCH_BACKWARD, program, "planes_dx", dx_planes, 8,
                                  k->apply_items, k->apply_local);
}

int bench_unordered_open(scene *s, cl_program program, contender *made)
{
    const bench_cut k = bench_cut_of(s, 1), backward = bench_cut_of(s, 2);
    stages *st = calloc(1, sizeof *st);
    if (!st)
        return job_failed_here(s->error, "unordered", SBN_OUT_OF_MEMORY);
    st->name = "unordered";
    st->scene = s;
    *made = stages_contender(st);
    int status = stages_buffer(st, PARTIAL, 2 * k.slices * k.channels);
    status = status ? status : stages_buffer(st, SAVED, 2 * k.channels);
    status = status ? status : stages_buffer(st, TABLE, 3 * k.channels);
    status = status ? status : add_forward(st, program, &k);
    status = status ? status : add_backward(st, program, &backward);
    if (status)
        made->close(st);
    return status;
}
