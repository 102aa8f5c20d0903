/* Problems: names, comparison and the canonical line. */
#include "check/problem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/elements.h"

const char *const data_kind_names[DATA_KINDS] = {
    [DATA_NORMAL] = "normal",   [DATA_LARGE_MEAN] = "large_mean",
    [DATA_ONE] = "one",         [DATA_TINY_VAR] = "tiny_var",
    [DATA_OUTLIER] = "outlier", [DATA_CONSTANT] = "constant",
    [DATA_ZERO] = "zero",       [DATA_DENORMAL] = "denormal",
    [DATA_WIDE] = "wide",       [DATA_HUGE] = "huge",
    [DATA_NAN] = "nan",         [DATA_INF] = "inf",
    [DATA_NINF] = "ninf",       [DATA_EXACT] = "exact",
    [DATA_BORDER] = "border",   [DATA_STEP] = "step",
    [DATA_PEAK] = "peak",       [DATA_INFS] = "infs",
    [DATA_ZEROS] = "zeros",
};

static const char *const form_names[] = {"auto", "cpu", "gpu"};

const char *form_name(sbn_kernel_form form)
{
    return form_names[form];
}

int form_parse(const char *text, sbn_kernel_form *form)
{
    for (int i = SBN_FORM_AUTO; i <= SBN_FORM_GPU; ++i) {
        if (strcmp(text, form_names[i]) == 0) {
            *form = (sbn_kernel_form)i;
            return 0;
        }
    }
    return -1;
}

int problem_is_fused(const problem *p)
{
    return p->activation != SBN_IDENTITY || p->residual;
}

problem problem_alone(const problem *p)
{
    problem alone = *p;
    alone.type = SBN_F32;
    alone.activation = SBN_IDENTITY;
    alone.residual = alone.from_output = alone.in_place = 0;
    alone.gap = 0;
    alone.memory = PROBLEM_BUFFERS;
    alone.begin = alone.stored = 0;
    alone.given = alone.branch = 0;
    return alone;
}

void problem_set_replicas(problem *p, size_t replicas)
{
    if (p->has_split && p->replicas != replicas) {
        p->has_split = p->has_sizes = 0;
        memset(p->split, 0, sizeof p->split);
        memset(p->sizes, 0, sizeof p->sizes);
    }
    p->replicas = replicas;
}

int problem_equal(const problem *a, const problem *b)
{
    char line_a[PROBLEM_LINE], line_b[PROBLEM_LINE];
    problem_print(a, line_a, sizeof line_a);
    problem_print(b, line_b, sizeof line_b);
    return strcmp(line_a, line_b) == 0;
}

/* A line that grows; what does not fit is dropped. */
typedef struct text {
    char *at;
    size_t left;
} text;

__attribute__((format(printf, 2, 3))) static void put(text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(t->at, t->left, format, arguments);
    va_end(arguments);
    size_t step = length < 0 ? 0 : (size_t)length;
    if (step >= t->left)
        step = t->left ? t->left - 1 : 0;
    t->at += step;
    t->left -= step;
}

/* The shortest decimal that reads back as the same double. */
static void put_double(text *t, const char *name, double value)
{
    char digits[40];
    for (int precision = 1; precision <= 17; ++precision) {
        snprintf(digits, sizeof digits, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    put(t, ",%s=%s", name, digits);
}

static void put_shape(text *t, const problem *p)
{
    static const char *const names[][PROBLEM_MAX_SPACE] = {{NULL},
                                                           {"il"},
                                                           {"ih", "iw"},
                                                           {"id", "ih", "iw"}};
    put(t, "mb%zuic%zu", p->samples, p->channels);
    for (int i = 0; i < p->space_dims; ++i)
        put(t, "%s%zu", names[p->space_dims][i], p->space[i]);
}

static void put_shards(text *t, const problem *p)
{
    if (!p->has_split) {
        if (p->replicas)
            put(t, ",r%zu", p->replicas);
        return;
    }
    for (size_t r = 0; r < p->replicas; ++r)
        put(t, "%s%zu", r ? "-" : ",split", p->split[r]);
    for (size_t r = 0; p->has_sizes && r < p->replicas; ++r) {
        put(t, r ? "-" : ",sizes");
        for (int i = 0; i < p->space_dims; ++i)
            put(t, "%s%zu", i ? "x" : "", p->sizes[r][i]);
    }
}

static void put_passes(text *t, unsigned passes)
{
    static const struct {
        unsigned pass;
        char letter;
    } letters[] = {{PASS_FORWARD, 'f'},
                   {PASS_BACKWARD, 'b'},
                   {PASS_EVALUATE, 'e'},
                   {PASS_RECOMPUTE, 'r'}};
    if (passes == PASS_ALL)
        return;
    put(t, ",passes=");
    for (size_t i = 0; i < sizeof letters / sizeof *letters; ++i)
        if (passes & letters[i].pass)
            put(t, "%c", letters[i].letter);
}

static void put_activation(text *t, const problem *p)
{
    if (p->activation == SBN_RELU)
        put(t, ",relu");
    else if (p->activation == SBN_LEAKY_RELU && p->slope == PROBLEM_SLOPE)
        put(t, ",leaky");
    else if (p->activation == SBN_LEAKY_RELU)
        put_double(t, "leaky", p->slope);
}

static void put_word(text *t, int wanted, const char *word)
{
    if (wanted)
        put(t, ",%s", word);
}

void problem_print(const problem *p, char *line, size_t size)
{
    text t = {line, size};
    put_shape(&t, p);
    put_word(&t, p->type != SBN_F32, type_names[p->type]);
    put_activation(&t, p);
    put_word(&t, p->residual, "add");
    put_word(&t, p->from_output, "output");
    put_word(&t, p->layout == SBN_LAYOUT_NHWC, "last");
    put_shards(&t, p);
    if (p->shuffle)
        put(&t, ",shuffle%llu", (unsigned long long)p->shuffle);
    if (p->offset)
        put(&t, ",off%zu", p->offset);
    if (p->gap)
        put(&t, ",%spitch%zu",
            p->viewed == VIEWED_X           ? "x"
            : p->viewed == VIEWED_GRADIENTS ? "d"
                                            : "",
            p->gap);
    if (p->data != DATA_NORMAL)
        put(&t, ",data=%s", data_kind_names[p->data]);
    if (p->grad != DATA_NORMAL)
        put(&t, ",grad=%s", data_kind_names[p->grad]);
    if (p->seed != 1)
        put(&t, ",seed%llu", (unsigned long long)p->seed);
    if (p->eps != 1e-5)
        put_double(&t, "eps", p->eps);
    put_word(&t, p->eps_mode == SBN_EPS_CLAMP, "clamp");
    if (p->momentum != 0.1)
        put_double(&t, "momentum", p->momentum);
    put_word(&t, p->average == SBN_AVERAGE_CUMULATIVE, "cumulative");
    put_word(&t, !p->affine, "plain");
    put_word(&t, !p->track, "untracked");
    put_word(&t, p->forward_flags & SBN_KEEP_RUNNING_STATS, "keep");
    put_word(&t, p->backward_flags & SBN_ACCUMULATE_GRADIENTS, "accumulate");
    put_word(&t, p->backward_flags & SBN_GLOBAL_GRADIENTS, "global");
    put_passes(&t, p->passes);
    put_word(&t, p->out_of_order, "ooo");
    put_word(&t, p->in_place, "inplace");
    put_word(&t, p->no_dx, "nodx");
    put_word(&t, p->no_residual_grad, "nograd");
    put_word(&t, p->frozen, "frozen");
    put_word(&t, p->memory == PROBLEM_HOST, "host");
    put_word(&t, p->memory == PROBLEM_COPIED, "copied");
    put_word(&t, p->by_host, "byhost");
    put_word(&t, p->begin, "begin");
    put_word(&t, p->stored, "stored");
    if (p->given)
        put(&t, ",given%zu", p->given - 1);
    if (p->branch)
        put(&t, ",branch%zu", p->branch - 1);
    if (p->form != SBN_FORM_AUTO)
        put(&t, ",form=%s", form_name(p->form));
}
