/* syncbn devices */
#include <stdio.h>

#include "syncbn/driver_advice.h"
#include "syncbn/options.h"

static const char help[] =
    "usage: syncbn devices [--json FILE]\n"
    "\n"
    "Every OpenCL platform and device: the number that syncbn check --devices takes,\n"
    "what the device is, and whether syncbn can use it. \"form\" is the form of the\n"
    "kernels that is chosen for it. A driver that does not load is named, with the\n"
    "loader's words. Where no device can be used it says what to install, and the exit\n"
    "status is 1.\n"
    "\n"
    "  --json FILE  also writes the list to FILE, or, if it is -, to standard output and\n"
    "               nothing else there\n"
    "\n"
    "Examples:\n"
    "  syncbn devices                a list for people\n"
    "  syncbn devices --json - | jq  one for programs\n";

static void print_device(const device_list *list, size_t i)
{
    const device_info *d = &list->device[i];
    printf("  %zu  %s\n", i, d->name);
    printf("     %s, %s, driver %s\n", d->vendor, d->version, d->driver);
    printf("     %s, %u compute units, %.1f GiB, form %s\n", d->type, (unsigned)d->compute_units,
           (double)d->memory / (1024.0 * 1024 * 1024), form_name(d->form));
    printf("     %s%s\n", d->usable ? "usable" : "not usable: ", d->reason);
}

static int any_usable(const device_list *list)
{
    for (size_t i = 0; i < list->devices; ++i)
        if (list->device[i].usable)
            return 1;
    return 0;
}

static void print_list(const device_list *list)
{
    for (size_t p = 0; p < list->platforms; ++p) {
        const platform_info *platform = &list->platform[p];
        printf("%s (%s, %s)\n", platform->name, platform->vendor, platform->version);
        if (platform->devices == 0) {
            const char *advice = platform_advice(platform);
            printf("     no devices%s%s\n", *advice ? ": " : "", advice);
        }
        for (size_t i = 0; i < list->devices; ++i)
            if (list->device[i].platform == p)
                print_device(list, i);
    }
}

static json_t *device_json(const device_info *d, size_t index)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:s, s:i, s:I, s:s, s:b, s:o*}", "index",
                     (json_int_t)index, "name", json_text(d->name), "vendor", json_text(d->vendor),
                     "driver", json_text(d->driver), "version", json_text(d->version), "type",
                     d->type, "compute_units", (int)d->compute_units, "memory",
                     (json_int_t)d->memory, "form", form_name(d->form), "usable", d->usable,
                     "reason", d->usable ? NULL : json_text(d->reason));
}

static json_t *list_json(const device_list *list)
{
    json_t *platforms = json_array();
    for (size_t p = 0; p < list->platforms; ++p) {
        const platform_info *platform = &list->platform[p];
        json_t *devices = json_array();
        for (size_t i = 0; i < list->devices; ++i)
            if (list->device[i].platform == p)
                json_array_append_new(devices, device_json(&list->device[i], i));
        json_array_append_new(platforms,
                              json_pack("{s:o, s:o, s:o, s:o}", "name", json_text(platform->name),
                                        "vendor", json_text(platform->vendor), "version",
                                        json_text(platform->version), "devices", devices));
    }
    return json_pack("{s:o}", "platforms", platforms);
}

static int run(const device_list *list, const command_options *o, json_output *json)
{
    (void)o;
    const int failed = !any_usable(list);
    if (!json_output_is_stdout(json)) {
        print_list(list);
        const int faults = driver_faults();
        if (list->platforms == 0 && faults == 0)
            puts("no OpenCL platform is installed");
        /* Where drivers are installed and none loads, others are no help. */
        if (failed && (list->platforms > 0 || faults == 0))
            fputs(driver_advice, stdout);
    }
    return json_output_write(json, list_json(list)) | failed;
}

static int settle(command_options *o)
{
    return *o->operands ? usage_error("devices takes no argument \"%s\"; see syncbn devices --help",
                                      *o->operands)
                        : 0;
}

const command devices_command = {.name = "devices",
                                 .takes = "",
                                 .help = help,
                                 .settle = settle,
                                 .run = run};
