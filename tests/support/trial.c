#include "support/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/tap.h"

void trial_make(trial *t, const char *line, size_t replicas)
{
    char error[256] = "no memory";
    memset(t, 0, sizeof *t);
    if (problem_parse(line, &t->p, error, sizeof error) || placement_make(&t->p, replicas, &t->g) ||
        inputs_make(&t->p, &t->g, &t->in)) {
        printf("Bail out! \"%s\": %s\n", line, error);
        exit(1);
    }
}

int trial_run(trial *t, runner *r, char *error)
{
    outputs_free(&t->out);
    return runner_run(r, &t->p, &t->g, &t->in, &t->out, error);
}

void trial_free(trial *t)
{
    outputs_free(&t->out);
    inputs_free(&t->in);
    placement_free(&t->g);
}

static const device_info *find(const device_list *list, const char *platform, const char *name)
{
    for (size_t i = 0; i < list->devices; ++i) {
        const device_info *d = &list->device[i];
        if (strstr(list->platform[d->platform].name, platform) && strstr(d->name, name))
            return d;
    }
    return NULL;
}

runner *trial_runner(const char *const names[][2], const char *build_options, char *error)
{
    enum { MOST = 4 };
    cl_device_id ids[MOST];
    runner_config config = {.devices = ids, .build_options = build_options};
    device_list list;
    runner *made = NULL;
    int usable = 1;
    if (devices_list(&list)) {
        snprintf(error, RUNNER_ERROR, "the devices cannot be listed");
        return NULL;
    }
    for (; usable && config.num_devices < MOST && names[config.num_devices][0];) {
        const char *const *pair = names[config.num_devices];
        const device_info *d = find(&list, pair[0], pair[1]);
        usable = d && d->usable;
        if (usable)
            ids[config.num_devices++] = d->id;
        else
            snprintf(error, RUNNER_ERROR, "platform \"%s\": %s", pair[0],
                     d ? d->reason : "no such device here");
    }
    if (usable && runner_create(&config, &made, error))
        made = NULL;
    devices_free(&list);
    return made;
}

static void bail_out(const char *error)
{
    printf("Bail out! %s\n", error);
    exit(1);
}

void trial_usable_devices(void (*check)(const device_info *device))
{
    device_list list;
    int checked = 0;
    if (devices_list(&list))
        bail_out("the devices cannot be listed");
    for (size_t i = 0; i < list.devices; ++i)
        if (list.device[i].usable) {
            check(&list.device[i]);
            ++checked;
        }
    devices_free(&list);
    if (!checked)
        tap_missing("no usable OpenCL device here");
}

static trial_check *check_of_runner;

static void check_by_runner(const device_info *device)
{
    const runner_config config = {.devices = &device->id, .num_devices = 1};
    char error[RUNNER_ERROR];
    runner *r;
    if (runner_create(&config, &r, error))
        bail_out(error);
    check_of_runner(r, device);
    runner_destroy(r);
}

int trial_every_device(trial_check *check)
{
    check_of_runner = check;
    trial_usable_devices(check_by_runner);
    return tap_done();
}
