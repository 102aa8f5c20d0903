/*
 * What settles the model of make check-offline, measured on a device:
 *
 *   launches [--form FORM] FOLDER LIST [TYPE]
 *
 * of every usable device, or of those of a type, as gpu: the latencies of calls; the seconds that
 * building takes, without compiled programs in FOLDER and with them; and of each problem of LIST
 * every command of a pass, by profiling, the gaps between commands, and the time of passes in a row
 * without it, for one replica and for two. LIST has problems that `syncbn bench` takes, a line each.
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check/devices.h"
#include "offline/latencies.h"
#include "offline/setting.h"
#include "offline/timeline.h"

enum { WARM_UP = 3, IN_A_ROW = 20, ROWS = 5 };

static sbn_kernel_form form;

static int pass(setting *s, int is_backward)
{
    const int status = is_backward ? sbn_backward(s->layer, s->shards, s->saved, 0, NULL)
                                   : sbn_forward(s->layer, s->shards, s->saved, 0, NULL);
    return status ? setting_fail(is_backward ? "sbn_backward" : "sbn_forward", status) : 0;
}

/* The first passes of a layer, with what they build. */
static int time_builds(const spread *one, const char *cache)
{
    static const char *const what[] = {"f32", "f32, ReLU", "f32, residual and ReLU", "f16"};
    static const char *const which[] = {"without compiled programs", "with them"};
    for (int kept = 0; kept < 2; ++kept) {
        setting s = {0};
        int failed = setting_queues(&s, one, 0);
        for (int i = 0; i < 4 && !failed; ++i) {
            const problem p = {.samples = 2,
                               .channels = 1,
                               .type = i == 3 ? SBN_F16 : SBN_F32,
                               .activation = i == 1 || i == 2 ? SBN_RELU : SBN_IDENTITY,
                               .residual = i == 2,
                               .affine = 1};
            const double start = sbn__seconds();
            if (i == 0)
                failed = setting_group(&s, form, cache);
            failed = failed || setting_layer(&s, &p) || setting_tensors(&s, &p) || pass(&s, 0) ||
                     pass(&s, 1) || setting_finish(&s);
            printf("build: %s, %s: %.3f s\n", what[i], which[kept], sbn__seconds() - start);
            setting_drop(&s);
        }
        setting_close(&s);
        if (failed)
            return 1;
    }
    return 0;
}

static int forward(void *of)
{
    return pass(of, 0);
}

static int backward(void *of)
{
    return pass(of, 1);
}

static int finish(void *of)
{
    return setting_finish(of);
}

static int in_a_row(setting *s, int is_backward, const char *what)
{
    double host[ROWS], all[ROWS];
    for (int row = 0; row < ROWS; ++row) {
        const double start = sbn__seconds();
        for (int i = 0; i < IN_A_ROW; ++i)
            if (pass(s, is_backward))
                return 1;
        host[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
        if (setting_finish(s))
            return 1;
        all[row] = 1e6 * (sbn__seconds() - start) / IN_A_ROW;
    }
    printf("row: %s: %.2f us of the host, %.2f a pass\n", what, median(host, ROWS),
           median(all, ROWS));
    return 0;
}

static int time_problem(setting *s, const spread *of, const problem *p, const char *line,
                        int profiles)
{
    const timeline_pass passes[] = {{forward, finish, s, s->queues[0]},
                                    {backward, finish, s, s->queues[0]}};
    int failed = setting_layer(s, p) || setting_tensors(s, p);
    for (int i = 0; i < WARM_UP && !failed; ++i)
        failed = pass(s, 0) || pass(s, 1);
    for (int is_backward = 0; is_backward < 2 && !failed; ++is_backward) {
        char what[PROBLEM_LINE + 64];
        snprintf(what, sizeof what, "%s, %s, %s", line, of->name,
                 is_backward ? "backward" : "forward");
        failed = setting_finish(s) || (profiles ? timeline_print(&passes[is_backward], what)
                                                : in_a_row(s, is_backward, what));
    }
    failed = failed || setting_finish(s);
    setting_drop(s);
    return failed;
}

static int time_lines(setting *s, const spread *of, FILE *file, int profiles)
{
    char line[PROBLEM_LINE], error[256];
    int failed = 0;
    while (!failed && fgets(line, sizeof line, file)) {
        problem p;
        line[strcspn(line, "\n")] = '\0';
        if (!*line || *line == '#')
            continue;
        if (problem_parse(line, &p, error, sizeof error)) {
            fprintf(stderr, "launches: %s: %s\n", line, error);
            return 1;
        }
        failed = time_problem(s, of, &p, line, profiles);
    }
    return failed;
}

static int time_list(const spread *of, const char *path, const char *cache)
{
    FILE *file = fopen(path, "r");
    int failed = !file;
    if (!file)
        perror(path);
    for (int profiles = 0; profiles < 2 && !failed; ++profiles) {
        setting s = {0};
        rewind(file);
        failed = setting_queues(&s, of, profiles ? CL_QUEUE_PROFILING_ENABLE : 0) ||
                 setting_group(&s, form, cache) || time_lines(&s, of, file, profiles);
        setting_close(&s);
    }
    if (file)
        fclose(file);
    return failed;
}

static int print_device(const device_list *list, size_t number, const char *cache, const char *path)
{
    const device_info *d = &list->device[number];
    const spread one = {"one replica", 1, {d->id}, 0};
    const spread two = {"two replicas of one context", 2, {d->id, d->id}, 0};
    const spread apart = {"two replicas, a context each", 2, {d->id, d->id}, 1};
    cl_int code;
    printf("device %zu: %s, driver %s\n", number, d->name, d->driver);
    cl_context context = clCreateContext(NULL, 1, &d->id, NULL, NULL, &code);
    if (code)
        return setting_fail("clCreateContext", code);
    int failed = latencies_print(context, d->id);
    clReleaseContext(context);
    failed = failed || time_builds(&one, cache) || time_list(&one, path, cache) ||
             time_list(&two, path, cache) || time_list(&apart, path, cache);
    /* The next device of the same kind, where there is one. */
    for (size_t i = number + 1; i < list->devices && !failed; ++i) {
        const device_info *other = &list->device[i];
        if (!other->usable || other->platform != d->platform || strcmp(other->name, d->name) != 0)
            continue;
        const spread devices = {"two devices of one context", 2, {d->id, other->id}, 0};
        const spread contexts = {"two devices, a context each", 2, {d->id, other->id}, 1};
        return time_list(&devices, path, cache) || time_list(&contexts, path, cache);
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
    const int status = devices_list(&list);
    if (status)
        return setting_fail("listing the devices", status);
    int failed = 0;
    for (size_t i = 0; i < list.devices; ++i)
        if (list.device[i].usable && (argc < 4 || strcmp(argv[3], list.device[i].type) == 0))
            failed |= print_device(&list, i, argv[1], argv[2]);
    devices_free(&list);
    return failed;
}
