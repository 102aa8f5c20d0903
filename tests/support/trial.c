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

int trial_every_device(trial_check *check)
{
    char error[RUNNER_ERROR] = "the devices cannot be listed";
    device_list list;
    int failed = devices_list(&list), checked = 0;
    for (size_t i = 0; i < list.devices && !failed; ++i) {
        const device_info *d = &list.device[i];
        const runner_config config = {.devices = &d->id, .num_devices = 1};
        runner *r;
        if (!d->usable)
            continue;
        failed = runner_create(&config, &r, error);
        if (failed)
            break;
        check(r, d->name);
        runner_destroy(r);
        ++checked;
    }
    devices_free(&list);
    if (failed) {
        printf("Bail out! %s\n", error);
        exit(1);
    }
    if (!checked)
        tap_missing("no usable OpenCL device here");
    return tap_done();
}
