/*
 * A problem: one line that says what `syncbn check` computes, after the habit
 * of oneDNN's benchdnn. The line is a shape, then settings, with commas
 * between and no blanks. `syncbn check --help` (tools/syncbn/command_check.c) explains
 * every word; first, f32 and form=auto name defaults. Extents other than ic may be 0.
 *
 * In f16 and bf16 the numbers of a kind of data are rounded to the type, and a kind's
 * magnitudes are those that the type can hold and that are as hard in it: values next to
 * each other where f32 has a small spread, its own subnormals, its own largest numbers.
 * The means of `exact` are large against their spread where planes are powers of two.
 * Of `border` the first 16 of 256 elements are 0, the others of a mean of 10 spreads; of
 * `step` they are 10, 100 or 1000 spreads above the others, by channel. Of `peak` one of the
 * second 16 is 1000 spreads above the others, another one in each of 16 channels.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <syncbn.h>

enum { PROBLEM_MAX_REPLICAS = 64, PROBLEM_MAX_SPACE = 3, PROBLEM_LINE = 1024 };

typedef enum data_kind {
    DATA_NORMAL,
    DATA_LARGE_MEAN,
    DATA_ONE,
    DATA_TINY_VAR,
    DATA_OUTLIER,
    DATA_CONSTANT,
    DATA_ZERO,
    DATA_DENORMAL,
    DATA_WIDE,
    DATA_HUGE,
    DATA_NAN,
    DATA_INF,
    DATA_NINF,
    DATA_EXACT,
    DATA_BORDER,
    DATA_STEP,
    DATA_PEAK,
    DATA_INFS,
    DATA_ZEROS,
    DATA_LARGEST,
    DATA_KINDS
} data_kind;

/* Which tensors `pitch` makes views. */
enum { VIEWED_ALL, VIEWED_X, VIEWED_GRADIENTS };

/* Where tensors are: in buffers, in memory of the host, and there as if the driver copied it. */
enum { PROBLEM_BUFFERS, PROBLEM_HOST, PROBLEM_COPIED };

enum { PASS_FORWARD = 1, PASS_BACKWARD = 2, PASS_EVALUATE = 4, PASS_RECOMPUTE = 8, PASS_ALL = 15 };

typedef struct problem {
    size_t samples, channels;
    int space_dims; /* 0 ... 3 */
    size_t space[PROBLEM_MAX_SPACE];
    sbn_type type;
    sbn_activation activation;
    double slope; /* of a leaky ReLU */
    int residual;
    int from_output;
    sbn_layout layout;
    size_t replicas; /* 0: one per device; with a split, the number of its parts */
    int has_split, has_sizes;
    size_t split[PROBLEM_MAX_REPLICAS];
    size_t sizes[PROBLEM_MAX_REPLICAS][PROBLEM_MAX_SPACE];
    uint64_t shuffle;
    uint64_t offset, gap; /* gap: of `pitch` */
    int viewed;           /* VIEWED_ */
    data_kind data, grad;
    uint64_t seed;
    double eps;
    sbn_eps_mode eps_mode;
    double momentum;
    sbn_average average;
    int affine, track;
    unsigned forward_flags, backward_flags; /* of pass.h */
    unsigned passes;                        /* PASS_ */
    int out_of_order;
    int in_place; /* y over x in evaluation and recomputation; a gradient over dy */
    int frozen;
    int no_dx, no_residual_grad;
    int memory; /* PROBLEM_ */
    int by_host;
    int begin, stored;
    uint64_t given;  /* 1 + the first replica with running statistics in buffers; 0: none */
    uint64_t branch; /* 1 + the layer's place among two in each pass; 0: it is alone */
    sbn_kernel_form form;
} problem;

/*
 * Reads a line. Returns 0, or -1 with one sentence in `error` that names what
 * is wrong and where; *p is then undefined.
 */
int problem_parse(const char *line, problem *p, char *error, size_t error_size);

/*
 * Writes the canonical line: the shape, then only what differs from the
 * default, in the order of --help. Parsing it gives back the same problem.
 */
void problem_print(const problem *p, char *line, size_t size);

/* 1 if something follows the batch norm: a residual's addition, an activation. */
int problem_is_fused(const problem *p);

/* The batch norm of the problem alone: of floats in buffers, made by one call of one layer. */
problem problem_alone(const problem *p);

/* Sets the number of replicas; a split (and its sizes) of another number is dropped. */
void problem_set_replicas(problem *p, size_t replicas);

/* "auto", "cpu", "gpu": indexed by sbn_kernel_form. form_parse returns -1 if it is none of them. */
extern const char *const form_names[SBN_FORM_GPU + 1];
int form_parse(const char *text, sbn_kernel_form *form);
