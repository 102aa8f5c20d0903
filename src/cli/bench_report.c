/* The table. */
#include "bench_report.h"

#include <stdio.h>

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
    putchar('\n');
}

void bench_report_problem(const problem *p, const bench_result *result)
{
    char line[PROBLEM_LINE];
    problem_print(p, line, sizeof line);
    printf("%s  %.2f MB, %zu rounds, %.1f s: %s\n", line,
           1e-6 * (double)result->elements * sizeof(float), result->rounds, result->seconds,
           result->ok ? "results right" : "FAILED");
    if (!result->ok) {
        printf("  %s\n", result->error);
    }
    for (bench_pass pass = BENCH_COPY; pass < BENCH_PASSES; pass++) {
        for (size_t i = 0; i < result->count && result->rounds; i++) {
            if (result->series[i].pass == pass) {
                print_series(result, &result->series[i]);
            }
        }
    }
    fflush(stdout);
}
