/* syncbn bench */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "syncbn/bench_options.h"
#include "syncbn/bench_report.h"
#include "syncbn/command.h"

static int run_list(bench *b, const bench_options *o, bench_json *json)
{
    int failed = 0;
    for (size_t i = 0; i < o->list.count; ++i) {
        const problem *p = &o->list.problems[i];
        bench_result result;
        bench_run(b, p, &result);
        failed |= !result.ok;
        if (o->json)
            bench_json_problem(json, p, &result);
        if (!o->json || strcmp(o->json, "-") != 0)
            bench_report_problem(p, &result);
        else if (!result.ok)
            fprintf(stderr, "syncbn: %s\n", result.error);
        bench_result_free(&result);
    }
    return failed ? EXIT_FAILED : 0;
}

static int run(const device_list *list, const bench_options *o)
{
    size_t chosen[DEVICE_CHOICE_MAX];
    const device_info *devices[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    bench_config config = {.devices = devices,
                           .build_options = o->build_options,
                           .budget = o->budget};
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
        if (!o->json || strcmp(o->json, "-") != 0)
            bench_report_device(devices[i], chosen[i]);
    }
    bench_json_wire(&json, b);
    if (!o->json || strcmp(o->json, "-") != 0)
        bench_report_wire(b);
    exit_status = run_list(b, o, &json);
    bench_close(b);
    if (bench_json_end(&json, o->json)) {
        fprintf(stderr, "syncbn: %s cannot be written: %s\n", o->json, strerror(errno));
        exit_status = EXIT_FAILED;
    }
    return exit_status;
}

int command_bench(int argc, char **argv)
{
    bench_options options;
    int ended = bench_options_read(argc, argv, &options);
    if (ended)
        return ended - 1;
    device_list list;
    int status = devices_list(&list);
    if (status) {
        fprintf(stderr, "syncbn: listing the devices failed: %s\n", sbn_strerror(status));
        bench_options_free(&options);
        return EXIT_FAILED;
    }
    int exit_status = run(&list, &options);
    devices_free(&list);
    bench_options_free(&options);
    return fflush(stdout) ? EXIT_FAILED : exit_status;
}
