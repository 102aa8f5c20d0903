/* What the library is to reach: which problems a goal is about, and what is compared. */
#include "bench/report/goals_list.h"

#include <math.h>

#include "bench/report/results.h"

static const double mega = 1e6;

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

static int plain(const json_t *problem)
{
    return results_is_f32(problem) && results_is_unfused(problem);
}

static int narrow(const json_t *problem)
{
    return !results_is_f32(problem) && results_is_unfused(problem);
}

static int with_relu(const json_t *problem)
{
    return results_is_f32(problem) && results_has_relu(problem);
}

static int with_add_relu(const json_t *problem)
{
    return results_is_f32(problem) && results_has_add_relu(problem);
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

static double against_alone(const json_t *problem, const char *pass)
{
    return results_quotient(problem, LIBRARY, "norm alone", pass);
}

static double against_separate(const json_t *problem, const char *pass)
{
    return results_quotient(problem, LIBRARY, "separate", pass);
}

/* A share of what is allowed, which is 1 MB or 1 % of the tensor. */
static double workspace(const json_t *problem, const char *pass)
{
    (void)pass;
    return results_workspace(problem) / fmax(mega, results_bytes(problem) / 100);
}

const goal goals[] = {
    {ON_CPU, "against oneDNN given the same layout, >= 0.4 MB", " x", 1, 1, onednn_same,
     from_0_4_mb, BOTH, NULL, 0, NULL},
    {ON_CPU, "against oneDNN's best layout, > 4 MB", " x", 0.9, 1, onednn_best, above_4_mb, BOTH,
     NULL, 0, NULL},
    {ON_CPU, "the same, on half of them", " x", 1, 1, onednn_best, above_4_mb, BOTH, NULL, 1, NULL},
    {ON_CPU, "against oneDNN's best layout, 0.4 to 4 MB", " x", 0.7, 1, onednn_best, up_to_4_mb,
     BOTH, NULL, 0, NULL},
    {ON_CPU, "exact sums against unordered ones, >= 16 MB, cost", " %", 10, 0, exactness,
     from_16_mb, BOTH, NULL, 0, NULL},
    {ON_CPU, "exact sums against unordered ones, >= 0.4 MB, cost", " %", 25, 0, exactness,
     from_0_4_mb, BOTH, NULL, 0, NULL},
    {ON_CPU, "forward against three passes of a copy, >= 16 MB, channels first", "", 0.85, 1, share,
     from_16_mb, FIRST, "forward", 0, NULL},
    {ON_CPU, "forward against three passes of a copy, >= 16 MB, channels last", "", 0.80, 1, share,
     from_16_mb, LAST, "forward", 0, NULL},
    {ON_CPU, "backward against five passes of a copy, >= 16 MB, channels first", "", 0.85, 1, share,
     from_16_mb, FIRST, "backward", 0, NULL},
    {ON_CPU, "backward against five passes of a copy, >= 16 MB, channels last", "", 0.80, 1, share,
     from_16_mb, LAST, "backward", 0, NULL},
    {ON_CPU, "fixed cost of a pass beyond its kernels, 64 channels", " us", 20, 0, beyond_kernels,
     tiny_64, BOTH, NULL, 0, NULL},
    {ON_CPU, "fixed cost of a pass beyond its kernels, 2048 channels", " us", 40, 0, beyond_kernels,
     tiny_2048, BOTH, NULL, 0, NULL},
    {ON_CPU, "time until a pass returns, 64 channels", " us", 30, 0, until_return, tiny_64, BOTH,
     NULL, 0, NULL},
    {ON_CPU, "time until a pass returns, 2048 channels", " us", 30, 0, until_return, tiny_2048,
     BOTH, NULL, 0, NULL},
    {ON_CPU, "synchronising two devices of a context, >= 16 MB, costs", " %", 2, 0, synchronising,
     from_16_mb, BOTH, NULL, 0, NULL},
    {ON_CPU, "synchronising two devices of a context, >= 3 MB, costs", " %", 10, 0, synchronising,
     from_3_mb, BOTH, NULL, 0, NULL},
    {ON_CPU, "against the plain baseline kernel, > 4 MB", " x", 5, 1, baseline, above_4_mb, BOTH,
     NULL, 0, NULL},
    {ON_ANY, "workspace, as a share of 1 % of the tensor or 1 MB", "", 1, 0, workspace, any, BOTH,
     "forward", 0, NULL},
    {ON_ANY, "f16 and bf16 against f32 of the same shape, >= 16 MB of f32, time", " x", 0.65, 0,
     against_f32, from_16_mb_f32, BOTH, NULL, 0, narrow},
    {ON_ANY, "fused ReLU against none, >= 16 MB, time", " x", 1.03, 0, against_alone, from_16_mb,
     BOTH, NULL, 0, with_relu},
    {ON_ANY, "addition and ReLU fused against apart, >= 16 MB, time", " x", 0.6, 0,
     against_separate, from_16_mb, BOTH, NULL, 0, with_add_relu},
    {ON_GPU, "forward against three passes of a copy, >= 64 MB, channels first", "", 0.85, 1, share,
     from_64_mb, FIRST, "forward", 0, NULL},
    {ON_GPU, "forward against three passes of a copy, >= 64 MB, channels last", "", 0.85, 1, share,
     from_64_mb, LAST, "forward", 0, NULL},
    {ON_GPU, "backward against five passes of a copy, >= 64 MB, channels first", "", 0.85, 1, share,
     from_64_mb, FIRST, "backward", 0, NULL},
    {ON_GPU, "backward against five passes of a copy, >= 64 MB, channels last", "", 0.85, 1, share,
     from_64_mb, LAST, "backward", 0, NULL},
};
const size_t goal_count = sizeof goals / sizeof *goals;

int goal_is_for(const goal *g, const json_t *report)
{
    return g->devices & (results_first_device_is(report, "gpu") ? ON_GPU : ON_CPU);
}

int goal_is_about(const goal *g, const json_t *problem)
{
    const layouts layout = results_is_last(problem) ? LAST : FIRST;
    return results_is_dense(problem) && (g->kind ? g->kind : plain)(problem) &&
           g->layouts & layout && g->about(problem);
}
