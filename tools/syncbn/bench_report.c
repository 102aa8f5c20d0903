/* The table. */
#include "syncbn/bench_report.h"

#include <stdio.h>
#include <string.h>

void bench_report_device(const device_info *device, size_t number)
{
    printf("device %zu: %s\n", number, device->name);
}

static void print_series(const bench_result *result, const series *s)
{
    spread t = spread_of(s->seconds, result->rounds);
    double bytes = bench_bytes(result, s->pass);
    printf("  %-9s %-20s %9.3f ms  [%.3f %.3f]  %7.2f GB/s", bench_pass_names[s->pass], s->of->name,
           1e3 * t.median, 1e3 * t.quartile1, 1e3 * t.quartile3, 1e-9 * bytes / t.median);
    if (s->pass != BENCH_COPY) {
        spread share = bench_share_of_copy(result, s);
        printf("  %5.2f of copy [%.2f %.2f]", share.median, share.quartile1, share.quartile3);
    } else if (s->of->name == result->copy) {
        printf("  the fastest copy");
    }
    const spread returned = spread_of(s->returned, result->rounds);
    if (returned.count)
        printf("  returned after %.1f us", 1e6 * returned.median);
    putchar('\n');
}

/* "syncbn takes 0.16 x ... against unordered", or near 1 in percent more or less. */
static void print_comparison(const bench_result *result, const comparison_of *c)
{
    double more = c->quotient.median;
    const char *fastest = bench_onednn_fastest(result, c->pass);
    printf("  %-9s %s takes ", bench_pass_names[c->pass], c->of);
    if (more > 0.5 && more < 2) {
        printf("%+.1f %% [%+.1f %+.1f], %+.1f us against ", 100 * (more - 1),
               100 * (c->quotient.quartile1 - 1), 100 * (c->quotient.quartile3 - 1),
               1e6 * c->difference.median);
    } else {
        printf("%.2f x [%.2f %.2f], %+.1f us against ", more, c->quotient.quartile1,
               c->quotient.quartile3, 1e6 * c->difference.median);
    }
    printf("%s%s\n", c->with,
           fastest && strcmp(fastest, c->with) == 0 ? ", its fastest layout" : "");
}

void bench_report_problem(const problem *p, const bench_result *result)
{
    char line[PROBLEM_LINE];
    problem_print(p, line, sizeof line);
    printf("%s  %.2f MB, %zu rounds, %.1f s: %s\n", line, 1e-6 * (double)result->bytes,
           result->rounds, result->seconds, result->ok ? "results right" : "FAILED");
    if (!result->ok)
        printf("  %s\n", result->error);
    for (bench_pass pass = BENCH_COPY; pass < BENCH_PASSES; ++pass) {
        for (size_t i = 0; i < result->count && result->rounds; ++i)
            if (result->series[i].pass == pass)
                print_series(result, &result->series[i]);
    }
    comparison_of list[BENCH_MAX_COMPARISONS];
    size_t count = bench_compare(result, list);
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass) {
        for (size_t i = 0; i < count && result->rounds; ++i)
            if (list[i].pass == pass)
                print_comparison(result, &list[i]);
    }
    printf("  workspace %.3f MB on the device, %.2f %% of the tensor\n",
           1e-6 * (double)result->workspace,
           100.0 * (double)result->workspace / (double)result->bytes);
    fflush(stdout);
}
