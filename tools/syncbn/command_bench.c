/* syncbn bench */
#include <stdio.h>

#include "syncbn/bench_report.h"
#include "syncbn/command.h"
#include "syncbn/command_run.h"
#include "syncbn/options.h"
#include "syncbn/progress.h"

static int run_list(bench *b, const command_options *o, bench_json *json, int table)
{
    size_t failed = 0;
    for (size_t i = 0; i < o->list.count; ++i) {
        const problem *p = &o->list.problems[i];
        char line[PROBLEM_LINE];
        bench_result result;
        problem_print(p, line, sizeof line);
        /* The growing table shows the progress itself. */
        progress_show(i + 1, o->list.count, failed, line, !table);
        bench_run(b, p, &result);
        progress_clear();
        failed += !result.ok;
        bench_json_problem(json, p, &result);
        if (table)
            bench_report_problem(p, &result);
        else if (!result.ok)
            fprintf(stderr, "syncbn: %s\n", result.error);
        bench_result_free(&result);
    }
    return failed ? EXIT_FAILED : 0;
}

static int run(const device_list *list, const void *options, json_output *out)
{
    const command_options *o = options;
    size_t chosen[DEVICE_CHOICE_MAX];
    const device_info *devices[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    bench_config config = {.devices = devices,
                           .build_options = o->build_options,
                           .budget = o->budget};
    const int table = !json_output_is_stdout(out);
    bench_json json;
    bench *b;
    int exit_status = device_choice_resolve(&o->devices, list, chosen, &config.num_devices);
    if (exit_status)
        return exit_status;
    for (size_t i = 0; i < config.num_devices; ++i)
        devices[i] = &list->device[chosen[i]];
    if (bench_open(&config, &b, error)) {
        fprintf(stderr, "syncbn: %s\n", error);
        return EXIT_FAILED;
    }
    if (bench_json_begin(&json)) {
        fprintf(stderr, "syncbn: no memory for the report\n");
        bench_close(b);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < config.num_devices; ++i) {
        bench_json_device(&json, devices[i], chosen[i]);
        if (table)
            bench_report_device(devices[i], chosen[i]);
    }
    fflush(stdout);
    exit_status = run_list(b, o, &json, table);
    bench_close(b);
    int unwritten = bench_json_end(&json, out);
    return unwritten ? unwritten : exit_status;
}

int command_bench(int argc, char **argv)
{
    command_options options = {.budget = {.seconds = 2}};
    const int ended = options_read(argc, argv, &bench_usage, &options);
    if (ended)
        return ended - 1;
    const int exit_status = command_run(options.json, run, &options);
    options_free(&options);
    return exit_status;
}
