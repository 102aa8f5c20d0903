#include "syncbn/command_run.h"

#include <syncbn.h>

int command_run(const char *json_path,
                int (*run)(const device_list *list, const void *options, json_output *json),
                const void *options)
{
    json_output json;
    int exit_status = json_output_open(&json, json_path);
    if (exit_status)
        return exit_status;
    device_list list;
    const int status = devices_list(&list);
    if (status) {
        fprintf(stderr, "syncbn: listing the devices failed: %s\n", sbn_strerror(status));
        exit_status = EXIT_FAILED;
    } else {
        exit_status = run(&list, options, &json);
        devices_free(&list);
    }
    json_output_close(&json);
    return exit_status;
}
