#include "support/trial.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fixture.h"

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

int trial_run(trial *t, queues *r, char *error)
{
    outputs_free(&t->out);
    return check_passes(r, &t->p, &t->g, &t->in, &t->out, error);
}

void trial_free(trial *t)
{
    outputs_free(&t->out);
    inputs_free(&t->in);
    placement_free(&t->g);
}

static int make_queues(cl_device_id device, const char *options, queues **made, char *error)
{
    const runner_config config = {.devices = &device, .num_devices = 1, .build_options = options};
    return queues_open(&config, made, error);
}

queues *trial_pocl(const char *build_options, char *error)
{
    fixture f;
    queues *made = NULL;
    snprintf(error, RUNNER_ERROR, "there is no PoCL device here");
    if (fixture_open(&f))
        return NULL;
    if (make_queues(f.device, build_options, &made, error))
        made = NULL;
    fixture_close(&f);
    return made;
}

int trial_every_device(trial_check *check)
{
    device_list list;
    char error[RUNNER_ERROR];
    int checked = 0;
    must(devices_list(&list), "devices_list");
    for (size_t i = 0; i < list.devices; ++i) {
        queues *r;
        if (!list.device[i].usable)
            continue;
        must(make_queues(list.device[i].id, NULL, &r, error), error);
        check(r, &list.device[i]);
        queues_close(r);
        ++checked;
    }
    devices_free(&list);
    return checked ? tap_done() : tap_missing("no usable OpenCL device here");
}

int sample_only(void)
{
    const char *check = getenv("CHECK");
    return !check || strcmp(check, "full") != 0;
}

int sample_has_gpu_form(const char *line)
{
    const int fused = strstr(line, "relu") || strstr(line, "leaky") || strstr(line, ",add") ||
                      strstr(line, ",output");
    return !sample_only() || (!strstr(line, "bf16") && (!fused || strstr(line, "relu,add")));
}
