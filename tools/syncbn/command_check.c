/* syncbn check */
#include <stdio.h>

#include "syncbn/command.h"
#include "syncbn/command_run.h"
#include "syncbn/options.h"
#include "syncbn/report.h"

static int run(const device_list *list, const void *options, json_output *json)
{
    const command_options *o = options;
    size_t chosen[DEVICE_CHOICE_MAX], count;
    cl_device_id ids[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    int exit_status = device_choice_resolve(&o->devices, list, chosen, &count);
    if (exit_status)
        return exit_status;
    for (size_t i = 0; i < count; ++i)
        ids[i] = list->device[chosen[i]].id;
    runner_config config = {.devices = ids,
                            .num_devices = count,
                            .build_options = o->build_options};
    runner *r;
    if (runner_create(&config, &r, error)) {
        fprintf(stderr, "syncbn: %s\n", error);
        return EXIT_FAILED;
    }
    report to = {.options = o,
                 .devices = list,
                 .num_chosen = count,
                 .chosen = chosen,
                 .json = {.to = json}};
    report_begin(&to);
    for (size_t i = 0; i < o->list.count; ++i) {
        check_result result;
        report_progress(&to, &o->list.problems[i]);
        /* New digests are not compared with those of the list. */
        check_run(r, &o->list.problems[i],
                  o->format == REPORT_DIGESTS ? NULL : &o->list.recorded[i], &result);
        report_result(&to, &o->list.problems[i], &result);
        check_free(&result);
    }
    runner_destroy(r);
    return report_end(&to);
}

int command_check(int argc, char **argv)
{
    command_options options = {0};
    const int ended = options_read(argc, argv, &check_usage, &options);
    if (ended)
        return ended - 1;
    const int exit_status = command_run(options.json, run, &options);
    options_free(&options);
    return exit_status;
}
