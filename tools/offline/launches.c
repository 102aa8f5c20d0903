/*
 * What settles the model of make check-offline, measured on a device:
 *
 *   launches [--form FORM] FOLDER LIST [TYPE]
 *
 * of every usable device, or of those of a type, as gpu: the seconds that building takes, without compiled
 * programs in FOLDER and with them; what the driver says of the kernels: work-group, the multiple that the
 * device prefers, local and private memory, and what the compiler has logged (NVIDIA's: registers and
 * spills), beside what make check-offline says without it; and of each problem of LIST every command of a pass, by profiling, and
 * the gaps between commands, for one replica and for two. LIST has problems that `syncbn bench` takes, a
 * line each.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check/devices.h"
#include "check/job.h"
#include "check/queues.h"
#include "offline/timeline.h"

enum { WARM_UP = 3 };

static sbn_kernel_form form;
static const char *cache;

/* Replicas on devices: a group. */
typedef struct setting {
    const char *name;
    size_t replicas;
    cl_device_id devices[2];
    int contexts; /* RUNNER_ */
    const char *build_options;
    queues *queues;
    sbn_group *group;
    cl_command_queue *queue;
} setting;

static int fail(const char *what, int status)
{
    fprintf(stderr, "launches: %s: %s: %s\n", what, sbn_strerror(status), sbn_last_error());
    return 1;
}

static int open_setting(setting *s, cl_command_queue_properties profiling)
{
    static const problem any = {.samples = 1};
    const runner_config config = {.devices = s->devices,
                                  .num_devices = s->replicas,
                                  .contexts = s->contexts,
                                  .form = form,
                                  .build_options = s->build_options,
                                  .profiling = profiling,
                                  .program_cache = cache};
    char error[RUNNER_ERROR] = "making a group";
    int status = queues_open(&config, &s->queues, error);
    status = status ? status : queues_group(s->queues, &any, s->replicas, &s->group, &s->queue);
    return status ? fail(error, status) : 0;
}

static void close_setting(setting *s)
{
    queues_close(s->queues);
    s->queues = NULL;
}

static int finish(const job *j)
{
    const int status = job_finish(j);
    return status ? fail(j->error, status) : 0;
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
        const int status = job_open(&j, s->group, s->queue);
        failed = status ? fail(error, status) : act(s, &j, line);
        failed = failed || finish(&j);
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

/* The first passes of layers, with what they build; with the first the context and the group's programs. */
static int time_builds(setting one)
{
    static const char *const lines[] = {
        "mb2ic1",        "mb2ic1,relu",     "mb2ic1,relu,add",    "mb2ic1,f16",
        "mb2ic64ih7iw7", "mb2ic64ih56iw56", "mb2ic64ih7iw7,last",
    };
    int failed = 0;
    for (int kept = 0; kept < 2 && !failed; ++kept) {
        timeline_describe(!kept);
        for (size_t i = 0; i < sizeof lines / sizeof *lines && !failed; ++i) {
            const double start = sbn__seconds();
            failed = (i == 0 && open_setting(&one, 0)) || with_job(&one, lines[i], first_passes);
            printf("build: %s, %s: %.3f s\n", lines[i],
                   kept ? "with them" : "without compiled programs", sbn__seconds() - start);
        }
        close_setting(&one);
    }
    timeline_describe(0);
    return failed;
}

static int time_commands(setting *s, job *j, const char *line)
{
    int failed = 0;
    for (int i = 0; i < WARM_UP && !failed; ++i)
        failed = pass(j, 0) || pass(j, 1);
    for (int is_backward = 0; is_backward < 2 && !failed; ++is_backward) {
        char what[PROBLEM_LINE + 64];
        snprintf(what, sizeof what, "%s, %s, %s", line, s->name,
                 is_backward ? "backward" : "forward");
        failed = finish(j);
        for (int i = 0; i < TIMELINE_PASSES && !failed; ++i) {
            timeline_begin();
            failed = pass(j, is_backward);
            failed = timeline_end(failed || finish(j));
        }
        if (!failed)
            timeline_print(what, s->queue[0]);
    }
    return failed;
}

static int time_list(setting s, FILE *list)
{
    char line[PROBLEM_LINE];
    rewind(list);
    int failed = open_setting(&s, CL_QUEUE_PROFILING_ENABLE);
    while (!failed && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line && *line != '#')
            failed = with_job(&s, line, time_commands);
    }
    close_setting(&s);
    return failed;
}

/* Two replicas on these devices, which may be one: in a context together, and in one each. */
static int time_two(const char *what, cl_device_id a, cl_device_id b, FILE *problems)
{
    static const int contexts[] = {RUNNER_PLATFORMS, RUNNER_ENTRIES};
    int failed = 0;
    for (int i = 0; i < 2 && !failed; ++i) {
        char name[64];
        snprintf(name, sizeof name, "two %s%s", what, i ? ", a context each" : " of one context");
        failed = time_list((setting){.name = name,
                                     .replicas = 2,
                                     .devices = {a, b},
                                     .contexts = contexts[i]},
                           problems);
    }
    return failed;
}

static int is_alike(const device_info *a, const device_info *b)
{
    return a->usable && b->usable && a->platform == b->platform && strcmp(a->name, b->name) == 0;
}

static int print_device(const device_list *list, size_t number, FILE *problems)
{
    const device_info *d = &list->device[number];
    size_t alike = 0;
    while (alike < number && !is_alike(&list->device[alike], d))
        ++alike;
    const setting one = {.name = "one replica", .replicas = 1, .devices = {d->id}};
    printf("device %zu: %s, driver %s\n", number, d->name, d->driver);
    setting logged = one;
    logged.build_options = strstr(d->vendor, "NVIDIA") ? "-cl-nv-verbose" : NULL;
    int failed = 0;
    if (alike == number)
        failed = time_builds(logged);
    else
        printf("build: programs of device %zu\n", alike);
    failed = failed || time_list(one, problems) || time_two("replicas", d->id, d->id, problems);
    for (size_t i = number + 1; i < list->devices && !failed; ++i)
        if (is_alike(d, &list->device[i]))
            return time_two("devices", d->id, list->device[i].id, problems);
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
