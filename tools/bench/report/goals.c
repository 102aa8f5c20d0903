/*
 * The goals, and their verdicts. A goal is judged by the worst of all problems
 * and passes that it is about: by medians, never by a lucky round.
 */
#include "bench/report/goals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/report/results.h"

static const double mega = 1e6;

typedef enum layouts { FIRST = 1, LAST = 2, BOTH = 3 } layouts;

typedef struct goal {
    const char *what;
    const char *unit;
    double limit;
    int at_least; /* the value is to be `limit` or more; else or less */
    double (*value)(const json_t *problem, const char *pass); /* NaN: not measured */
    int (*about)(const json_t *problem);
    layouts layouts;
    const char *pass; /* NULL: both */
    int half;         /* enough if half of the values meet it */
    int narrow;       /* about problems of f16 and bf16 instead of f32 */
} goal;

static int from_16_mb(const json_t *problem)
{
    return results_bytes(problem) >= 16 * mega;
}

static int from_16_mb_f32(const json_t *problem)
{
    return results_bytes_f32(problem) >= 16 * mega;
}

static int above_4_mb(const json_t *problem)
{
    return results_bytes(problem) > 4 * mega;
}

static int from_0_4_mb(const json_t *problem)
{
    return results_bytes(problem) >= 0.4 * mega;
}

static int up_to_4_mb(const json_t *problem)
{
    return from_0_4_mb(problem) && !above_4_mb(problem);
}

static int from_3_mb(const json_t *problem)
{
    return results_bytes(problem) >= 3 * mega;
}

static int from_64_mb(const json_t *problem)
{
    return results_bytes(problem) >= 64 * mega;
}

static int tiny(const json_t *problem, size_t channels)
{
    return results_extent(problem, "ic") == channels && results_extent(problem, "mb") == 2 &&
           results_extent(problem, "ih") == 0;
}

static int tiny_64(const json_t *problem)
{
    return tiny(problem, 64);
}

static int tiny_2048(const json_t *problem)
{
    return tiny(problem, 2048);
}

static int any(const json_t *problem)
{
    return !tiny_64(problem) && !tiny_2048(problem);
}

static double share(const json_t *problem, const char *pass)
{
    return results_share_of_copy(problem, LIBRARY, pass);
}

static double onednn_best(const json_t *problem, const char *pass)
{
    const char *fastest = results_onednn(problem, pass);
    return fastest ? 1 / results_quotient(problem, LIBRARY, fastest, pass) : NAN;
}

static double onednn_same(const json_t *problem, const char *pass)
{
    const char *layout = results_is_last(problem) ? "onednn nhwc" : "onednn nchw";
    return 1 / results_quotient(problem, LIBRARY, layout, pass);
}

static double baseline(const json_t *problem, const char *pass)
{
    return 1 / results_quotient(problem, LIBRARY, "baseline", pass);
}

static double synchronising(const json_t *problem, const char *pass)
{
    return 100 * (results_quotient(problem, "synchronised", "apart", pass) - 1);
}

static double exactness(const json_t *problem, const char *pass)
{
    return 100 * (results_quotient(problem, LIBRARY, "unordered", pass) - 1);
}

static double until_return(const json_t *problem, const char *pass)
{
    return 1e6 * results_returned(problem, LIBRARY, pass);
}

static double beyond_kernels(const json_t *problem, const char *pass)
{
    return 1e6 * results_difference(problem, LIBRARY, "unordered", pass);
}

static double against_f32(const json_t *problem, const char *pass)
{
    return results_quotient(problem, LIBRARY, "f32", pass);
}

/* A share of what is allowed, which is 1 MB or 1 % of the tensor. */
static double workspace(const json_t *problem, const char *pass)
{
    (void)pass;
    return results_workspace(problem) / fmax(mega, results_bytes(problem) / 100);
}

static const goal on_a_cpu[] = {
    {"against oneDNN given the same layout, >= 0.4 MB", " x", 1, 1, onednn_same, from_0_4_mb, BOTH,
     NULL, 0, 0},
    {"against oneDNN's best layout, > 4 MB", " x", 0.9, 1, onednn_best, above_4_mb, BOTH, NULL, 0,
     0},
    {"the same, on half of them", " x", 1, 1, onednn_best, above_4_mb, BOTH, NULL, 1, 0},
    {"against oneDNN's best layout, 0.4 to 4 MB", " x", 0.7, 1, onednn_best, up_to_4_mb, BOTH, NULL,
     0, 0},
    {"exact sums against unordered ones, >= 16 MB, cost", " %", 10, 0, exactness, from_16_mb, BOTH,
     NULL, 0, 0},
    {"exact sums against unordered ones, >= 0.4 MB, cost", " %", 25, 0, exactness, from_0_4_mb,
     BOTH, NULL, 0, 0},
    {"forward against three passes of a copy, >= 16 MB, channels first", "", 0.85, 1, share,
     from_16_mb, FIRST, "forward", 0, 0},
    {"forward against three passes of a copy, >= 16 MB, channels last", "", 0.80, 1, share,
     from_16_mb, LAST, "forward", 0, 0},
    {"backward against five passes of a copy, >= 16 MB, channels first", "", 0.85, 1, share,
     from_16_mb, FIRST, "backward", 0, 0},
    {"backward against five passes of a copy, >= 16 MB, channels last", "", 0.80, 1, share,
     from_16_mb, LAST, "backward", 0, 0},
    {"fixed cost of a pass beyond its kernels, 64 channels", " us", 20, 0, beyond_kernels, tiny_64,
     BOTH, NULL, 0, 0},
    {"fixed cost of a pass beyond its kernels, 2048 channels", " us", 40, 0, beyond_kernels,
     tiny_2048, BOTH, NULL, 0, 0},
    {"time until a pass returns, 64 channels", " us", 30, 0, until_return, tiny_64, BOTH, NULL, 0,
     0},
    {"time until a pass returns, 2048 channels", " us", 30, 0, until_return, tiny_2048, BOTH, NULL,
     0, 0},
    {"synchronising two devices of a context, >= 16 MB, costs", " %", 2, 0, synchronising,
     from_16_mb, BOTH, NULL, 0, 0},
    {"synchronising two devices of a context, >= 3 MB, costs", " %", 10, 0, synchronising,
     from_3_mb, BOTH, NULL, 0, 0},
    {"against the plain baseline kernel, > 4 MB", " x", 5, 1, baseline, above_4_mb, BOTH, NULL, 0,
     0},
    {"workspace, as a share of 1 % of the tensor or 1 MB", "", 1, 0, workspace, any, BOTH,
     "forward", 0, 0},
    {"f16 and bf16 against f32 of the same shape, >= 16 MB of f32, time", " x", 0.65, 0,
     against_f32, from_16_mb_f32, BOTH, NULL, 0, 1},
};

static const goal on_a_gpu[] = {
    {"forward against three passes of a copy, >= 64 MB, channels first", "", 0.85, 1, share,
     from_64_mb, FIRST, "forward", 0, 0},
    {"forward against three passes of a copy, >= 64 MB, channels last", "", 0.85, 1, share,
     from_64_mb, LAST, "forward", 0, 0},
    {"backward against five passes of a copy, >= 64 MB, channels first", "", 0.85, 1, share,
     from_64_mb, FIRST, "backward", 0, 0},
    {"backward against five passes of a copy, >= 64 MB, channels last", "", 0.85, 1, share,
     from_64_mb, LAST, "backward", 0, 0},
    {"workspace, as a share of 1 % of the tensor or 1 MB", "", 1, 0, workspace, any, BOTH,
     "forward", 0, 0},
    {"f16 and bf16 against f32 of the same shape, >= 16 MB of f32, time", " x", 0.65, 0,
     against_f32, from_16_mb_f32, BOTH, NULL, 0, 1},
};

/* The worst value so far, and how many met the goal. */
typedef struct tally {
    size_t values, met;
    double worst;
    const char *problem, *pass;
} tally;

static int meets(const goal *g, double value)
{
    return g->at_least ? value >= g->limit : value <= g->limit;
}

static void count(const goal *g, const json_t *problem, const char *pass, tally *t)
{
    double value = g->value(problem, pass);
    if (isnan(value))
        return;
    if (!t->values || (g->at_least ? value < t->worst : value > t->worst)) {
        t->worst = value;
        t->problem = results_line(problem);
        t->pass = pass;
    }
    ++t->values;
    t->met += meets(g, value) != 0;
}

static tally judge(const goal *g, const json_t *report)
{
    static const char *const passes[] = {"forward", "backward"};
    tally t = {0, 0, NAN, "", ""};
    const json_t *problems = results_problems(report);
    for (size_t index = 0; index < json_array_size(problems); ++index) {
        const json_t *problem = json_array_get(problems, index);
        if (g->narrow == results_is_f32(problem))
            continue;
        int in_layout = g->layouts & (results_is_last(problem) ? LAST : FIRST);
        for (size_t i = 0; i < 2 && in_layout && g->about(problem); ++i)
            if (!g->pass || strcmp(g->pass, passes[i]) == 0)
                count(g, problem, passes[i], &t);
    }
    return t;
}

static void print(const goal *g, const tally *t)
{
    if (!t->values) {
        printf("%-66s  not measured\n", g->what);
        return;
    }
    printf("%-66s %8.2f%-3s  goal %s %g%-3s  %s", g->what, t->worst, g->unit,
           g->at_least ? ">=" : "<=", g->limit, g->unit,
           t->met >= (g->half ? (t->values + 1) / 2 : t->values) ? "met   " : "missed");
    printf("  %zu of %zu; worst: %s %s\n", t->met, t->values, t->pass, t->problem);
}

void goals_print(const json_t *report)
{
    int gpu = results_first_device_is(report, "gpu");
    const goal *goals = gpu ? on_a_gpu : on_a_cpu;
    size_t number = gpu ? sizeof on_a_gpu / sizeof *on_a_gpu : sizeof on_a_cpu / sizeof *on_a_cpu;
    for (size_t i = 0; i < number; ++i) {
        tally t = judge(&goals[i], report);
        print(&goals[i], &t);
    }
}
