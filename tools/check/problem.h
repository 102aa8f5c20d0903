/*
 * A problem: one line that says what `syncbn check` computes, after the habit
 * of oneDNN's benchdnn. The line is a shape, then settings, with commas
 * between and no blanks:
 *
 *   mb32ic64ih112iw112,last,split5-0-27,data=large_mean,eps=0.001
 *
 * Shape: mb samples, ic channels, then il (length) or ih iw or id ih iw; none
 * of these is (N,C). Extents other than ic may be 0.
 *
 * Settings, each with its default when absent:
 *
 *   f16, bf16           storage of x, y, dy, dx, the residual and its gradient (f32)
 *   relu                a ReLU behind the batch norm
 *   leaky, leaky=0.2    a leaky ReLU of this slope (0.01)
 *   add                 a residual is added, before the activation
 *   last                channels last in memory (first)
 *   r3                  replicas (one per chosen device); samples are dealt evenly
 *   split5-0-27         samples of each replica, adding up to mb; 0 is an empty shard
 *   sizes7x7-14x5       extents of each replica's samples instead of the shape's; needs split
 *   shuffle3            samples are dealt in a permuted order, 3 being its seed (0: in order)
 *   off3                buffers start 3, 6 and 9 elements into their memory, in turn (0)
 *   pitch3              x, y, dy and dx are slices of wider tensors: between their samples, or
 *                       pixels if last, lie 3, 6 or 9 elements of others (0)
 *   data=KIND           what x holds (normal), below
 *   grad=KIND           what dy holds (normal), below
 *   seed7               of the generator (1)
 *   eps=1e-3            (1e-5)
 *   clamp               eps clamps the variance instead of being added
 *   momentum=0.3        (0.1)
 *   cumulative          running statistics are the plain mean of all batches
 *   plain               a layer without weight and bias
 *   untracked           a layer without running statistics
 *   keep                forward leaves the running statistics alone
 *   accumulate          backward adds to weight_grad and bias_grad
 *   global              weight_grad and bias_grad are sums over the group
 *   passes=fber         of forward, backward, evaluation, recomputation; b and r need f (all)
 *   ooo                 out-of-order queues, passes ordered by events
 *   inplace             y of evaluation and recomputation is written over x; over dy, dx or
 *                       with add the residual's gradient
 *   form=cpu, form=gpu  of the kernels (auto)
 *
 * Kinds: normal; large_mean (x = 1000 +- 0.003); one (dy = 1 +- 1e-5);
 * tiny_var (variance far below eps); outlier (the first element is 10^6);
 * constant; zero; denormal; wide (a magnitude of its own for each channel,
 * 2^-40 ... 2^40); huge (squares overflow); nan, inf, ninf (one value in the
 * middle channel); exact (integers whose sums need no rounding, their mean large
 * against their spread where planes are powers of two); border (of each 256 elements
 * of a plane the first 16 are 0, the others of a mean of 10 spreads); step (the first
 * 16 are 10, 100 or 1000 spreads above the others, by channel). In f16 and bf16 the
 * numbers are rounded to the type, and a kind's magnitudes are those that the type can hold
 * and that are as hard in it: values next to each other where f32 has a small spread,
 * its own subnormals, its own largest numbers.
 */
#ifndef TOOLS_CHECK_PROBLEM_H
#define TOOLS_CHECK_PROBLEM_H

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
    DATA_KINDS
} data_kind;

/* The slope of `leaky` alone. */
#define PROBLEM_SLOPE 0.01

enum { PASS_FORWARD = 1, PASS_BACKWARD = 2, PASS_EVALUATE = 4, PASS_RECOMPUTE = 8, PASS_ALL = 15 };

typedef struct problem {
    size_t samples, channels;
    int space_dims; /* 0 ... 3 */
    size_t space[PROBLEM_MAX_SPACE];
    sbn_type type;
    sbn_activation activation;
    double slope; /* of a leaky ReLU */
    int residual;
    sbn_layout layout;
    size_t replicas; /* 0: one per device; with a split, the number of its parts */
    int has_split, has_sizes;
    size_t split[PROBLEM_MAX_REPLICAS];
    size_t sizes[PROBLEM_MAX_REPLICAS][PROBLEM_MAX_SPACE];
    uint64_t shuffle;
    size_t offset, gap; /* gap: of `pitch` */
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
    sbn_kernel_form form;
} problem;

/*
 * Reads a line. Returns 0, or -1 with one sentence in `error` that names what
 * is wrong and where; *p is then undefined.
 */
int problem_parse(const char *line, problem *p, char *error, size_t error_size);

/*
 * Writes the canonical line: the shape, then only what differs from the
 * default, in the order above. Parsing it gives back the same problem.
 */
void problem_print(const problem *p, char *line, size_t size);

/* 1 if something follows the batch norm: a residual's addition, an activation. */
int problem_is_fused(const problem *p);

/* 1 if both are the same problem. */
int problem_equal(const problem *a, const problem *b);

/* Sets the number of replicas; a split (and its sizes) of another number is dropped. */
void problem_set_replicas(problem *p, size_t replicas);

/* "auto", "cpu", "gpu"; returns -1 if it is none of them. */
int form_parse(const char *text, sbn_kernel_form *form);
const char *form_name(sbn_kernel_form form);

/* The names of data_kind, indexed by it. */
extern const char *const data_kind_names[DATA_KINDS];

#endif
