/*
 * What settles the model of make check-offline, measured on a device:
 *
 *   launches [--form FORM] FOLDER LIST [TYPE]
 *
 * of every usable device, or of those of a type, as gpu: the seconds that building takes, without compiled
 * programs in FOLDER and with them; and of each problem of LIST every command of a pass, by profiling, the
 * gaps between commands, and the time of passes in a row without it, for one replica and for two. LIST has
 * problems that `syncbn bench` takes, a line each.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check/devices.h"
#include "check/job.h"
#include "offline/timeline.h"

enum { MOST_REPLICAS = 2, WARM_UP = 3, IN_A_ROW = 20, ROWS = 5 };

static sbn_kernel_form form;
static const char *cache;

/* Replicas on devices, in contexts: a group. */
typedef struct setting {
    const char *name;
    size_t replicas;
    cl_device_id devices[MOST_REPLICAS];
    int apart; /* each in a context of its own */
    cl_context contexts[MOST_REPLICAS];
    cl_command_queue queues[MOST_REPLICAS];
    sbn_group *group;
} setting;

static int fail(const char *what, int status)
{
    fprintf(stderr, "launches: %s: %s: %s\n", what, sbn_strerror(status), sbn_last_error());
    return 1;
}

static int open_queues(setting *s, cl_command_queue_properties properties)
{
    cl_int code = CL_SUCCESS;
    const cl_uint shared = s->replicas == 2 && s->devices[0] != s->devices[1] ? 2 : 1;
    for (size_t r = 0; r < s->replicas && !code; ++r) {
        s->contexts[r] = s->contexts[0];
        if (r > 0 && !s->apart)
            clRetainContext(s->contexts[r]);
        else
            s->contexts[r] = clCreateContext(NULL, s->apart ? 1 : shared, &s->devices[r], NULL,
                                             NULL, &code);
        if (!code)
            s->queues[r] = clCreateCommandQueue(s->contexts[r], s->devices[r], properties, &code);
    }
    return code ? fail("making a context and a queue", code) : 0;
}

static int open_group(setting *s)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.queues = s->queues;
    config.replicas = s->replicas;
    config.form = form;
    config.program_cache = cache;
    const int status = sbn_group_create(&config, &s->group);
    return status ? fail("sbn_group_create", status) : 0;
}

static void close_setting(setting *s)
{
    sbn_group_destroy(s->group);
    for (size_t r = 0; r < s->replicas; ++r) {
        if (s->queues[r])
            clReleaseCommandQueue(s->queues[r]);
        if (s->contexts[r])
            clReleaseContext(s->contexts[r]);
    }
    s->group = NULL;
    memset(s->queues, 0, sizeof s->queues);
    memset(s->contexts, 0, sizeof s->contexts);
}

static int finish(setting *s)
{
    cl_int code = CL_SUCCESS;
    for (size_t r = 0; r < s->replicas && !code; ++r)
        code = clFinish(s->queues[r]);
    return code ? fail("clFinish", code) : 0;
}

static int pass(job *j, int is_backward)
{
    const int status = is_backward ? job_backward(j, NULL) : job_forward(j, NULL);
    return status ? fail(j->error, status) : 0;
}

/* What is done with the layer and tensors of a problem, which is given as its line. */
typedef int action(setting *s, job *j, const char *line);

static int with_job(setting *s, const char *line, action *act)
{
    char error[RUNNER_ERROR] = "";
    problem p;
    placement g;
    inputs in;
    outputs out = {.count = 0};
    if (problem_parse(line, &p, error, sizeof error) || placement_make(&p, s->replicas, &g))
        return fail(*error ? error : line, SBN_INVALID_ARGUMENT);
    int failed = inputs_make(&p, &g, &in) ? fail("making inputs", SBN_OUT_OF_MEMORY) : 0;
    if (!failed) {
        job j = {.p = &p, .g = &g, .in = &in, .out = &out, .error = error};
        const int status = job_open(&j, s->group, s->queues);
        failed = status ? fail(error, status) : act(s, &j, line);
        failed = failed || finish(s);
        job_close(&j);
        inputs_free(&in);
    }
    placement_free(&g);
    return failed;
}

static int first_passes(setting *s, job *j, const char *line)
{
    (void)s, (void)line;
    return pass(j, 0) || pass(j, 1);
}

/* The first passes of a layer, with what they build; the group's own programs with the first. */
static int time_builds(setting one)
{
    static const char *const lines[] = {"mb2ic1", "mb2ic1,relu", "mb2ic1,relu,add", "mb2ic1,f16"};
    int failed = 0;
    for (int kept = 0; kept < 2 && !failed; ++kept) {
        failed = open_queues(&one, 0);
        for (size_t i = 0; i < sizeof lines / sizeof *lines && !failed; ++i) {
            const double start = sbn__seconds();
            failed = (i == 0 && open_group(&one)) || with_job(&one, lines[i], first_passes);
            printf("build: %s, %s: %.3f s\n", lines[i],
                   kept ? "with them" : "without compiled programs", sbn__seconds() - start);
        }
        close_setting(&one);
    }
    return failed;
}

static int in_a_row(setting *s, job *j, int is_backward, const char *what)
{
    double host[ROWS], all[ROWS];
    for (int row = 0; row < ROWS; ++row) {
        const double start = sbn__seconds();
        for (int i = 0; i < IN_A_ROW; ++i)
            if (pass(j, is_backward))
                return 1;
        host[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
        if (finish(s))
            return 1;
        all[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
    }
    printf("row: %s: %.2f us of the host, %.2f a pass\n", what, median(host, ROWS),
           median(all, ROWS));
    return 0;
}

static int commands_of(setting *s, job *j, int is_backward, const char *what)
{
    for (int i = 0; i < TIMELINE_PASSES; ++i) {
        timeline_begin();
        const int failed = pass(j, is_backward);
        if (timeline_end(failed || finish(s)))
            return 1;
    }
    timeline_print(what, s->queues[0]);
    return 0;
}

static int time_passes(setting *s, job *j, const char *line,
                       int (*time)(setting *s, job *j, int is_backward, const char *what))
{
    int failed = 0;
    for (int i = 0; i < WARM_UP && !failed; ++i)
        failed = pass(j, 0) || pass(j, 1);
    for (int is_backward = 0; is_backward < 2 && !failed; ++is_backward) {
        char what[PROBLEM_LINE + 64];
        snprintf(what, sizeof what, "%s, %s, %s", line, s->name,
                 is_backward ? "backward" : "forward");
        failed = finish(s) || time(s, j, is_backward, what);
    }
    return failed;
}

static int time_rows(setting *s, job *j, const char *line)
{
    return time_passes(s, j, line, in_a_row);
}

static int time_commands(setting *s, job *j, const char *line)
{
    return time_passes(s, j, line, commands_of);
}

static int time_list(setting s, FILE *list)
{
    char line[PROBLEM_LINE];
    int failed = 0;
    for (int profiles = 0; profiles < 2 && !failed; ++profiles) {
        rewind(list);
        failed = open_queues(&s, profiles ? CL_QUEUE_PROFILING_ENABLE : 0) || open_group(&s);
        while (!failed && fgets(line, sizeof line, list)) {
            line[strcspn(line, "\n")] = '\0';
            if (*line && *line != '#')
                failed = with_job(&s, line, profiles ? time_commands : time_rows);
        }
        close_setting(&s);
    }
    return failed;
}

static int print_device(const device_list *list, size_t number, FILE *problems)
{
    const device_info *d = &list->device[number];
    const setting one = {.name = "one replica", .replicas = 1, .devices = {d->id}};
    const setting two = {"two replicas of one context", 2, {d->id, d->id}, 0, {0}, {0}, NULL};
    const setting apart = {"two replicas, a context each", 2, {d->id, d->id}, 1, {0}, {0}, NULL};
    printf("device %zu: %s, driver %s\n", number, d->name, d->driver);
    int failed = time_builds(one) || time_list(one, problems) || time_list(two, problems) ||
                 time_list(apart, problems);
    /* The next device of the same kind, where there is one. */
    for (size_t i = number + 1; i < list->devices && !failed; ++i) {
        const device_info *o = &list->device[i];
        if (!o->usable || o->platform != d->platform || strcmp(o->name, d->name) != 0)
            continue;
        const setting devices =
            {"two devices of one context", 2, {d->id, o->id}, 0, {0}, {0}, NULL};
        const setting contexts =
            {"two devices, a context each", 2, {d->id, o->id}, 1, {0}, {0}, NULL};
        return time_list(devices, problems) || time_list(contexts, problems);
    }
    return failed;
}

int main(int argc, char **argv)
{
    device_list list;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 2 && strcmp(argv[1], "--form") == 0) {
        form = strcmp(argv[2], "gpu") == 0 ? SBN_FORM_GPU : SBN_FORM_AUTO;
        argc -= 2;
        argv += 2;
    }
    if (argc < 3) {
        fprintf(stderr, "usage: launches [--form FORM] FOLDER LIST [TYPE]\n");
        return 2;
    }
    cache = argv[1];
    FILE *problems = fopen(argv[2], "r");
    if (!problems) {
        perror(argv[2]);
        return 1;
    }
    const int status = devices_list(&list);
    int failed = status ? fail("listing the devices", status) : 0;
    for (size_t i = 0; !status && i < list.devices; ++i)
        if (list.device[i].usable && (argc < 4 || strcmp(argv[3], list.device[i].type) == 0))
            failed |= print_device(&list, i, problems);
    if (!status)
        devices_free(&list);
    fclose(problems);
    return failed;
}
