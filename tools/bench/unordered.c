/* The contender of unordered sums: its kernels and their arguments. */
#include "bench/contender.h"

#include <stdlib.h>

#include "bench/stages.h"
#include "bench/unordered_cut.h"

enum { PARTIAL, SAVED, TABLE };

/* A kernel of a pass. */
typedef struct stage {
    const char *name;
    const sbn_argument *arguments;
    size_t count;
} stage;

#define STAGE(name, arguments) \
    (stage) \
    { \
        (name), (arguments), sizeof(arguments) / sizeof *(arguments) \
    }

/* One kernel for all of a pass, or three. */
static int add(stages *st, bench_pass pass, cl_program program, const bench_cut *k, stage whole,
               stage sum, stage finish, stage apply)
{
    if (k->whole)
        return stages_add(st, pass, program, whole.name, whole.arguments, whole.count,
                          k->whole_items, 1);
    int status = stages_add(st, pass, program, sum.name, sum.arguments, sum.count, k->sum_items,
                            k->sum_local);
    if (!status)
        status = stages_add(st, pass, program, finish.name, finish.arguments, finish.count,
                            k->channels, 64);
    return status ? status
                  : stages_add(st, pass, program, apply.name, apply.arguments, apply.count,
                               k->apply_items, k->apply_local);
}

static int add_forward(stages *st, cl_program program, const bench_cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane, first = k->rows ? 1 : k->plane;
    const cl_float n = (cl_float)rows, eps = (cl_float)st->scene->p.eps;
    const cl_int affine = st->scene->p.affine;
    const sbn_argument of_planes[] = {SBN_ARG(t->mem[TENSOR_X]),   SBN_ARG(k->samples),
                                      SBN_ARG(k->channels),        SBN_ARG(k->plane),
                                      SBN_ARG(k->block),           SBN_ARG(k->slice),
                                      SBN_ARG(st->buffer[PARTIAL])};
    const sbn_argument of_rows[] = {SBN_ARG(t->mem[TENSOR_X]), SBN_ARG(rows), SBN_ARG(k->channels),
                                    SBN_ARG(k->slice), SBN_ARG(st->buffer[PARTIAL])};
    const sbn_argument finish[] = {SBN_ARG(st->buffer[PARTIAL]),
                                   SBN_ARG(k->slices),
                                   SBN_ARG(t->mem[TENSOR_X]),
                                   SBN_ARG(first),
                                   SBN_ARG(k->channels),
                                   SBN_ARG(n),
                                   SBN_ARG(eps),
                                   SBN_ARG(t->mem[TENSOR_WEIGHT]),
                                   SBN_ARG(t->mem[TENSOR_BIAS]),
                                   SBN_ARG(affine),
                                   SBN_ARG(st->buffer[SAVED]),
                                   SBN_ARG(st->buffer[TABLE])};
    const sbn_argument y_planes[] = {SBN_ARG(t->mem[TENSOR_X]), SBN_ARG(st->buffer[TABLE]),
                                     SBN_ARG(k->samples),       SBN_ARG(k->channels),
                                     SBN_ARG(k->plane),         SBN_ARG(k->run),
                                     SBN_ARG(t->mem[TENSOR_Y])};
    const sbn_argument y_rows[] = {SBN_ARG(t->mem[TENSOR_X]),
                                   SBN_ARG(st->buffer[TABLE]),
                                   SBN_ARG(rows),
                                   SBN_ARG(k->channels),
                                   SBN_ARG(k->run),
                                   SBN_ARG(t->mem[TENSOR_Y])};
    const sbn_argument whole[] = {SBN_ARG(t->mem[TENSOR_X]),
                                  SBN_ARG(k->samples),
                                  SBN_ARG(k->channels),
                                  SBN_ARG(k->plane),
                                  SBN_ARG(k->whole),
                                  SBN_ARG(n),
                                  SBN_ARG(eps),
                                  SBN_ARG(t->mem[TENSOR_WEIGHT]),
                                  SBN_ARG(t->mem[TENSOR_BIAS]),
                                  SBN_ARG(affine),
                                  SBN_ARG(st->buffer[SAVED]),
                                  SBN_ARG(st->buffer[TABLE]),
                                  SBN_ARG(k->streams),
                                  SBN_ARG(t->mem[TENSOR_Y])};
    return add(st, BENCH_FORWARD, program, k, STAGE("whole_forward", whole),
               k->rows ? STAGE("rows_forward", of_rows) : STAGE("planes_forward", of_planes),
               STAGE("finish_forward", finish),
               k->rows ? STAGE("rows_y", y_rows) : STAGE("planes_y", y_planes));
}

static int add_backward(stages *st, cl_program program, const bench_cut *k)
{
    const tensors *t = st->scene->job.tensors;
    const cl_ulong rows = k->samples * k->plane;
    const cl_float n = (cl_float)rows;
    const cl_int affine = st->scene->p.affine;
    const sbn_argument of_planes[] = {SBN_ARG(t->mem[TENSOR_X]),   SBN_ARG(t->mem[TENSOR_DY]),
                                      SBN_ARG(st->buffer[SAVED]),  SBN_ARG(k->samples),
                                      SBN_ARG(k->channels),        SBN_ARG(k->plane),
                                      SBN_ARG(k->block),           SBN_ARG(k->slice),
                                      SBN_ARG(st->buffer[PARTIAL])};
    const sbn_argument of_rows[] = {SBN_ARG(t->mem[TENSOR_X]),   SBN_ARG(t->mem[TENSOR_DY]),
                                    SBN_ARG(st->buffer[SAVED]),  SBN_ARG(rows),
                                    SBN_ARG(k->channels),        SBN_ARG(k->slice),
                                    SBN_ARG(st->buffer[PARTIAL])};
    const sbn_argument finish[] = {SBN_ARG(st->buffer[PARTIAL]),
                                   SBN_ARG(k->slices),
                                   SBN_ARG(k->channels),
                                   SBN_ARG(n),
                                   SBN_ARG(t->mem[TENSOR_WEIGHT]),
                                   SBN_ARG(affine),
                                   SBN_ARG(st->buffer[SAVED]),
                                   SBN_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                   SBN_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                   SBN_ARG(st->buffer[TABLE])};
    const sbn_argument dx_planes[] =
        {SBN_ARG(t->mem[TENSOR_X]), SBN_ARG(t->mem[TENSOR_DY]), SBN_ARG(st->buffer[TABLE]),
         SBN_ARG(k->samples),       SBN_ARG(k->channels),       SBN_ARG(k->plane),
         SBN_ARG(k->run),           SBN_ARG(t->mem[TENSOR_DX])};
    const sbn_argument dx_rows[] = {SBN_ARG(t->mem[TENSOR_X]),  SBN_ARG(t->mem[TENSOR_DY]),
                                    SBN_ARG(st->buffer[TABLE]), SBN_ARG(rows),
                                    SBN_ARG(k->channels),       SBN_ARG(k->run),
                                    SBN_ARG(t->mem[TENSOR_DX])};
    const sbn_argument whole[] = {SBN_ARG(t->mem[TENSOR_X]),
                                  SBN_ARG(t->mem[TENSOR_DY]),
                                  SBN_ARG(k->samples),
                                  SBN_ARG(k->channels),
                                  SBN_ARG(k->plane),
                                  SBN_ARG(k->whole),
                                  SBN_ARG(n),
                                  SBN_ARG(t->mem[TENSOR_WEIGHT]),
                                  SBN_ARG(affine),
                                  SBN_ARG(st->buffer[SAVED]),
                                  SBN_ARG(t->mem[TENSOR_WEIGHT_GRAD]),
                                  SBN_ARG(t->mem[TENSOR_BIAS_GRAD]),
                                  SBN_ARG(st->buffer[TABLE]),
                                  SBN_ARG(k->streams),
                                  SBN_ARG(t->mem[TENSOR_DX])};
    return add(st, BENCH_BACKWARD, program, k, STAGE("whole_backward", whole),
               k->rows ? STAGE("rows_backward", of_rows) : STAGE("planes_backward", of_planes),
               STAGE("finish_backward", finish),
               k->rows ? STAGE("rows_dx", dx_rows) : STAGE("planes_dx", dx_planes));
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
