/* syncbn bench */
#include <stdio.h>
#include <string.h>

#include "bench/bench.h"
#include "check/elements.h"
#include "check/fusion.h"
#include "syncbn/options.h"

static const char help[] =
    "usage: syncbn bench [options] [problem...]\n"
    "\n"
    "Times each problem's passes on one device, in turns with copies of the same\n"
    "tensor, and prints which share of the copy's speed they reach; then checks\n"
    "every result. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST        numbers of `syncbn devices`, as 0,1; the first is measured\n"
    "                        alone; or cpu, gpu, accelerator: every usable one of this\n"
    "                        type (every usable device)\n"
    "  --form FORM           of the kernels: auto, cpu or gpu\n"
    "  --build-options TEXT  for the OpenCL compiler, of the library's kernels\n"
    "  --file FILE           problems, one a line; # begins a comment, and what\n"
    "                        stands behind a problem is not looked at\n"
    "  --seconds S           to measure each problem (2), in 7 to 1024 rounds\n"
    "  --repeats N           so many rounds instead, 1 to 1024\n"
    "  --json FILE           also writes all numbers to FILE, or, if it is -, to standard\n"
    "                        output and nothing else there\n"
    "\n"
    "Problems are those of syncbn check (see its --help), without off, shuffle, sizes,\n"
    "ooo, inplace, passes, keep, accumulate, global, frozen, nodx, nograd, host, copied,\n"
    "byhost, begin, stored, given and branch. r and split set the replicas of\n"
    "synchronised and apart; the line syncbn has one replica.\n"
    "\n"
    "A line has a pass, who ran it, the median time [and its quartiles], bytes moved per\n"
    "second, and the share of the fastest copy's speed. Who runs:\n"
    "\n"
    "  syncbn         the library, on one device\n"
    "  plain          a copy, an element an item\n"
    "  vector         a copy by vectors\n"
    "  nontemporal    the same, past the caches\n"
    "  clEnqueueCopyBuffer  the driver's copy\n"
    "  unordered      fast kernels that sum in any order, so that bits depend on how work is cut\n"
    "  synchronised   the library on two replicas (or r, split), which share statistics\n"
    "  apart          the same replicas, each with its own statistics\n"
    "  onednn LAYOUT  oneDNN on the CPU\n"
    "  f32            of f16 and bf16: the library on the same numbers in f32\n"
    "  norm alone     of relu and leaky: the library without the activation\n"
    "  separate       of relu, leaky and add: with kernels of their own for these\n"
    "  from x         of output: the library with its ordinary backward pass\n"
    "  dense          of pitch: the library on tensors without gaps\n"
    "\n"
    "\"returned after\" is when the library's call had returned, before or after the device was\n"
    "done. \"syncbn takes +5 % against unordered\" compares times, round by round.\n"
    "\n"
    "Examples:\n"
    "  syncbn bench                                 a short list, on the first usable device\n"
    "  syncbn bench mb32ic64ih56iw56,last,relu      one problem\n"
    "  syncbn bench --seconds 10 --json bench.json  longer, with all numbers in a file\n"
    "\n"
    "Exit status: 0 all right, 1 a wrong result or an error, 2 wrong usage.\n";

static const char *const builtin[] = {
    "mb32ic64ih56iw56", "mb32ic64ih56iw56,last", "mb32ic512ih7iw7", "mb1024ic1024", NULL,
};

/* --- a table for people ------------------------------------------------------------------- */

static void print_series(const bench_result *result, const series *s)
{
    spread t = spread_of(s->seconds, result->rounds);
    double bytes = bench_bytes(result, s);
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

/* --- JSON --------------------------------------------------------------------------------- */

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
    for (size_t i = 0; i < result->count && result->rounds; ++i)
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
                     json_number_or_name(1e-9 * bench_bytes(result, s) / seconds.median),
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

/* --- the command -------------------------------------------------------------------------- */

/* Problems that cannot be measured are found before anything is. */
static int settle(command_options *o)
{
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < o->list.count; ++i) {
        const char *why = bench_refuses(&o->list.problems[i]);
        problem_print(&o->list.problems[i], line, sizeof line);
        if (why)
            return usage_error("%s cannot be measured: %s", line, why);
    }
    return 0;
}

/* Says which devices are measured; returns them for JSON. */
static json_t *devices_json(const device_list *list, const device_choice *chosen, int quiet)
{
    json_t *devices = json_array();
    for (size_t i = 0; i < chosen->count; ++i) {
        const size_t number = chosen->numbers[i];
        const device_info *d = &list->device[number];
        json_array_append_new(devices, json_pack("{s:I, s:o, s:o, s:s}", "index",
                                                 (json_int_t)number, "name", json_text(d->name),
                                                 "driver", json_text(d->driver), "type", d->type));
        if (!quiet)
            printf("device %zu: %s\n", number, d->name);
    }
    fflush(stdout);
    return devices;
}

static int run_list(const bench *b, const command_options *o, json_t *problems, int quiet)
{
    size_t failed = 0;
    for (size_t i = 0; i < o->list.count; ++i) {
        const problem *p = &o->list.problems[i];
        char line[PROBLEM_LINE];
        static bench_result result;
        problem_print(p, line, sizeof line);
        /* The growing table shows the progress itself. */
        progress_show(i + 1, o->list.count, failed, line, quiet);
        bench_run(b, p, &result);
        progress_clear();
        failed += !result.ok;
        json_array_append_new(problems, problem_json(p, &result));
        if (!quiet)
            print_problem(p, &result);
        else if (!result.ok)
            fprintf(stderr, "syncbn: %s\n", result.error);
    }
    return failed ? EXIT_FAILED : 0;
}

static int run(const device_list *list, const command_options *o, json_output *out)
{
    const device_info *devices[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    bench b = {.devices = devices,
               .num_devices = o->devices.count,
               .build_options = o->build_options,
               .budget = o->budget};
    const int quiet = json_output_is_stdout(out);
    for (size_t i = 0; i < o->devices.count; ++i)
        devices[i] = &list->device[o->devices.numbers[i]];
    if (bench_open(&b, error))
        return failure("%s", error);
    json_t *chosen = devices_json(list, &o->devices, quiet), *problems = json_array();
    const int exit_status = run_list(&b, o, problems, quiet);
    queues_close(b.queues);
    const int unwritten = json_output_write(out, json_pack("{s:s*, s:o, s:o}", "onednn",
                                                           bench_onednn_version(), "devices",
                                                           chosen, "problems", problems));
    return unwritten ? unwritten : exit_status;
}

const command bench_command = {.name = "bench",
                               .takes = "dflbsn",
                               .help = help,
                               .builtin = builtin,
                               .seconds = 2,
                               .settle = settle,
                               .run = run};
