/* syncbn check */
#include <stdio.h>

#include "command.h"
#include "report.h"

/* The devices that were asked for, or all that can be used. Returns an exit status. */
static int choose(const device_list *list, const check_options *o, size_t *chosen, size_t *count)
{
    *count = 0;
    for (size_t i = 0; i < o->num_devices; i++) {
        size_t index = o->devices[i];
        if (index >= list->devices) {
            return usage_error("--devices names %zu, but there are only %zu, numbered from 0; see "
                               "syncbn devices",
                               index, list->devices);
        }
        if (!list->device[index].usable) {
            fprintf(stderr, "syncbn: device %zu cannot be used: %s\n", index,
                    list->device[index].reason);
            return EXIT_FAILED;
        }
        chosen[(*count)++] = index;
    }
    for (size_t i = 0; i < list->devices && !o->num_devices && *count < OPTIONS_MAX_DEVICES; i++) {
        if (list->device[i].usable) {
            chosen[(*count)++] = i;
        }
    }
    if (*count == 0) {
        fprintf(stderr, "syncbn: there is no usable OpenCL device; see syncbn devices\n");
        return EXIT_FAILED;
    }
    return 0;
}

static int run_list(const device_list *list, const check_options *o)
{
    size_t chosen[OPTIONS_MAX_DEVICES], count;
    cl_device_id ids[OPTIONS_MAX_DEVICES];
    char error[RUNNER_ERROR];
    int exit_status = choose(list, o, chosen, &count);
    if (exit_status) {
        return exit_status;
    }
    for (size_t i = 0; i < count; i++) {
        ids[i] = list->device[chosen[i]].id;
    }
    runner_config config = {.devices = ids,
                            .num_devices = count,
                            .build_options = o->build_options};
    runner *r;
    if (runner_create(&config, &r, error)) {
        fprintf(stderr, "syncbn: %s\n", error);
        return EXIT_FAILED;
    }
    report to = {.options = o, .devices = list, .num_chosen = count, .chosen = chosen};
    report_begin(&to);
    for (size_t i = 0; i < o->count; i++) {
        check_result result;
        report_progress(&to, &o->problems[i]);
        check_run(r, &o->problems[i], &result);
        report_result(&to, &o->problems[i], &result);
        check_free(&result);
    }
    runner_destroy(r);
    return report_end(&to);
}

int command_check(int argc, char **argv)
{
    check_options options;
    int ended = options_read(argc, argv, &options);
    if (ended) {
        return ended - 1;
    }
    device_list list;
    int status = devices_list(&list);
    if (status) {
        fprintf(stderr, "syncbn: listing the devices failed: %s\n", sbn_strerror(status));
        options_free(&options);
        return EXIT_FAILED;
    }
    int exit_status = run_list(&list, &options);
    devices_free(&list);
    options_free(&options);
    return exit_status;
}
