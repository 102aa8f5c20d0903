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

runner *trial_pocl(const char *build_options, char *error)
{
    device_list list;
    runner *made = NULL;
    snprintf(error, RUNNER_ERROR, "there is no PoCL device here");
    if (devices_list(&list))
        return NULL;
    for (size_t i = 0; i < list.devices && !made; ++i) {
        const device_info *d = &list.device[i];
        const runner_config config = {.devices = &d->id,
                                      .num_devices = 1,
                                      .build_options = build_options};
        if (d->usable && strstr(list.platform[d->platform].name, "Portable Computing Language") &&
            runner_create(&config, &made, error))
            made = NULL;
    }
    devices_free(&list);
    return made;
}

static void bail_out(const char *error)
{
    printf("Bail out! %s\n", error);
    exit(1);
}

int trial_every_device(trial_check *check)
{
    device_list list;
    int checked = 0;
    if (devices_list(&list))
        bail_out("the devices cannot be listed");
    for (size_t i = 0; i < list.devices; ++i) {
        const device_info *device = &list.device[i];
        const runner_config config = {.devices = &device->id, .num_devices = 1};
        char error[RUNNER_ERROR];
        runner *r;
        if (!device->usable)
            continue;
        if (runner_create(&config, &r, error))
            bail_out(error);
        check(r, device);
        runner_destroy(r);
        ++checked;
    }
    devices_free(&list);
    if (!checked)
        tap_missing("no usable OpenCL device here");
    return tap_done();
}
