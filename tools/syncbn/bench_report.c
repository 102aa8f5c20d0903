#include "syncbn/bench_report.h"

#include <stdio.h>
#include <string.h>

#include "check/elements.h"
#include "check/fusion.h"

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
    const char *fastest = bench_fastest(result, c->pass, BENCH_ONEDNN);
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

static void print_problem(const problem *p, const bench_result *result)
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
    comparison_of c;
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass) {
        for (size_t i = 0; i < result->count && result->rounds; ++i)
            if (result->series[i].pass == pass && bench_compare(result, &result->series[i], &c))
                print_comparison(result, &c);
    }
    printf("  workspace %.3f MB on the device, %.2f %% of the tensor\n",
           1e-6 * (double)result->workspace,
           100.0 * (double)result->workspace / (double)result->bytes);
    fflush(stdout);
}

/* --- JSON -------------------------------------------------------------------------------------- */

static json_t *spread_json(spread s)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "count", (json_int_t)s.count, "median",
                     json_number_or_name(s.median), "quartile1", json_number_or_name(s.quartile1),
                     "quartile3", json_number_or_name(s.quartile3), "least",
                     json_number_or_name(s.least), "most", json_number_or_name(s.most));
}

static json_t *comparisons_json(const bench_result *result)
{
    comparison_of c;
    json_t *array = json_array();
    for (size_t i = 0; i < result->count; ++i)
        if (bench_compare(result, &result->series[i], &c))
            json_array_append_new(array, json_pack("{s:s, s:s, s:s, s:o, s:o}", "pass",
                                                   bench_pass_names[c.pass], "of", c.of, "with",
                                                   c.with, "quotient", spread_json(c.quotient),
                                                   "difference", spread_json(c.difference)));
    return array;
}

static json_t *series_json(const bench_result *result, const series *s)
{
    const spread seconds = spread_of(s->seconds, result->rounds);
    const spread returned = spread_of(s->returned, result->rounds);
    return json_pack("{s:s, s:s, s:o, s:o*, s:o, s:o}", "contender", s->of->name, "pass",
                     bench_pass_names[s->pass], "seconds", spread_json(seconds), "returned",
                     returned.count ? spread_json(returned) : NULL, "gb_per_s",
                     json_number_or_name(1e-9 * bench_bytes(result, s->pass) / seconds.median),
                     "share_of_copy", spread_json(bench_share_of_copy(result, s)));
}

static json_t *problem_json(const problem *p, const bench_result *result)
{
    char line[PROBLEM_LINE];
    json_t *list = json_array(), *onednn = json_object();
    problem_print(p, line, sizeof line);
    for (size_t i = 0; i < result->count && result->rounds; ++i)
        json_array_append_new(list, series_json(result, &result->series[i]));
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass) {
        const char *fastest = bench_fastest(result, pass, BENCH_ONEDNN);
        if (fastest)
            json_object_set_new(onednn, bench_pass_names[pass], json_string(fastest));
    }
    return json_pack(
        "{s:s, s:I, s:s, s:s, s:s, s:b, s:b, s:b, s:I, s:b, s:o*, s:I, s:f, s:s*, s:o, s:I, s:o, "
        "s:o}",
        "problem", line, "channels", (json_int_t)p->channels, "layout",
        p->layout == SBN_LAYOUT_NHWC ? "last" : "first", "type", type_names[p->type], "activation",
        activation_names[p->activation], "residual", p->residual, "from_output", p->from_output,
        "views", p->gap != 0, "bytes", (json_int_t)result->bytes, "ok", result->ok, "error",
        result->ok ? NULL : json_text(result->error), "rounds", (json_int_t)result->rounds, "took",
        result->seconds, "fastest_copy", result->copy, "fastest_onednn", onednn, "workspace_bytes",
        (json_int_t)result->workspace, "series", list, "comparisons", comparisons_json(result));
}

/* --- both -------------------------------------------------------------------------------------- */

void bench_report_begin(bench_report *r, const device_list *list, const device_choice *chosen,
                        json_output *out)
{
    *r = (bench_report){.out = out, .devices = json_array(), .problems = json_array()};
    for (size_t i = 0; i < chosen->count; ++i) {
        const size_t number = chosen->numbers[i];
        const device_info *d = &list->device[number];
        json_array_append_new(r->devices,
                              json_pack("{s:I, s:o, s:o, s:s}", "index", (json_int_t)number, "name",
                                        json_text(d->name), "driver", json_text(d->driver), "type",
                                        d->type));
        if (!json_output_is_stdout(out))
            printf("device %zu: %s\n", number, d->name);
    }
    fflush(stdout);
}

void bench_report_problem(bench_report *r, const problem *p, const bench_result *result)
{
    json_array_append_new(r->problems, problem_json(p, result));
    if (!json_output_is_stdout(r->out))
        print_problem(p, result);
    else if (!result->ok)
        fprintf(stderr, "syncbn: %s\n", result->error);
}

int bench_report_end(bench_report *r)
{
    return json_output_write(r->out, json_pack("{s:s*, s:o, s:o}", "onednn", bench_onednn_version(),
                                               "devices", r->devices, "problems", r->problems));
}
