/* syncbn tune */
#include <string.h>

#include "bench/bench.h"
#include "bench/tuner.h"
#include "program/cache.h"
#include "syncbn/options.h"

static const char help[] =
    "usage: syncbn tune [options] [problem...]\n"
    "\n"
    "Finds numbers of the launch plan that a device is faster with, and keeps them for\n"
    "later groups on this device and driver, beside the compiled programs. Results keep\n"
    "their bits. A number is kept only where its gain over all problems exceeds 2 % and\n"
    "the noise, and where it makes none slower. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST  numbers of `syncbn devices`, as 0,1; or cpu, gpu, accelerator:\n"
    "                  every usable one of this type (every usable device)\n"
    "  --form FORM     of the kernels, for all problems: auto, cpu or gpu\n"
    "  --file FILE     problems, one a line; # begins a comment, and what stands behind\n"
    "                  a problem is not looked at\n"
    "  --seconds S     to compare two plans on a problem (0.5), in 7 to 1024 rounds\n"
    "  --forget        removes what is kept, and measures nothing\n"
    "  --json FILE     also writes all numbers to FILE, or, if it is -, to standard\n"
    "                  output and nothing else there\n"
    "\n"
    "The environment variable SYNCBN_TUNING, as in SYNCBN_TUNING=groups=200,cache=50, is\n"
    "used instead of what is kept, by all programs; empty: the plan as it is.\n"
    "\n"
    "Examples:\n"
    "  syncbn tune                   every usable device, half a minute each\n"
    "  syncbn tune --devices gpu     every GPU\n"
    "  syncbn tune --forget          back to the library's own numbers\n"
    "\n"
    "Exit status: 0 all right, 1 an error, 2 wrong usage.\n";

static const char *const builtin[] = {
    "mb32ic64ih112iw112", "mb32ic256ih28iw28,last", "mb8ic256ih14iw14", "mb1024ic1024", NULL,
};

static int settle(command_options *o)
{
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < o->list.count; ++i)
        if (o->list.problems[i].form != o->form) {
            problem_print(&o->list.problems[i], line, sizeof line);
            return usage_error("%s: give the form by --form, which is for all problems", line);
        }
    return o->list.count > TUNER_PROBLEMS
               ? usage_error("expected at most %d problems, got %zu", TUNER_PROBLEMS, o->list.count)
               : bench_command.settle(o);
}

/* Steps of a number: twice or half the last, as long as that gains. */
enum { STEPS = 3 };

/* What a device is tuned with, and what is said about it. */
typedef struct tuning_run {
    const command_options *options;
    const device_info *device;
    sbn_kernel_form form;
    int quiet;
    tuner tuner;
    sbn_tuning best;
    json_t *tried, *object;
    char error[RUNNER_ERROR];
} tuning_run;

static const char *shown(const sbn_tuning *tuning, char text[SBN_TUNING_TEXT])
{
    sbn__tuning_print(tuning, text);
    return *text ? text : "the plan";
}

/* Compares, and says so. */
static int try(tuning_run *r, const sbn_tuning *before, const sbn_tuning *after,
               tuner_comparison *result, double seconds)
{
    char text[SBN_TUNING_TEXT];
    const int status = tuner_compare(&r->tuner, before, after, seconds, result);
    if (status)
        return status;
    sbn__tuning_print(after, text);
    json_array_append_new(r->tried,
                          json_pack("{s:s, s:o, s:o, s:b}", "tuning", text, "quotient",
                                    json_number_or_name(result->quotient), "noise",
                                    json_number_or_name(result->noise), "gain", result->gain));
    if (!r->quiet) {
        printf("  %-40s %.3f of the time, noise %.3f%s\n", shown(after, text), result->quotient,
               result->noise, result->gain ? ": a gain" : "");
        fflush(stdout);
    }
    return SBN_SUCCESS;
}

/* One number, in one direction. */
static int search(tuning_run *r, int number, int up, int *gained)
{
    static tuner_comparison result;
    int status = SBN_SUCCESS;
    for (int step = 0; step < STEPS && !status; ++step) {
        sbn_tuning next = r->best;
        const uint32_t now = next.percent[number] ? next.percent[number] : 100;
        next.percent[number] = up ? 2 * now : now / 2;
        if (next.percent[number] > SBN_TUNING_MOST || next.percent[number] < SBN_TUNING_LEAST)
            break;
        status = try(r, &r->best, &next, &result, r->options->budget.seconds);
        if (status || !result.gain)
            break;
        r->best = next;
        *gained = 1;
    }
    return status;
}

static void report_lines(tuning_run *r, const tuner_comparison *result)
{
    char line[PROBLEM_LINE];
    json_t *problems = json_array();
    if (!r->quiet)
        printf("  %-40s %10s %10s\n", "milliseconds", "before", "after");
    for (size_t i = 0; i < result->count; ++i) {
        const tuner_line *l = &result->lines[i];
        const char *pass = bench_pass_names[l->is_backward ? BENCH_BACKWARD : BENCH_FORWARD];
        problem_print(l->of, line, sizeof line);
        if (!r->quiet)
            printf("  %-30s %-9s %10.3f %10.3f\n", line, pass, 1e3 * l->before, 1e3 * l->after);
        json_array_append_new(problems,
                              json_pack("{s:s, s:s, s:o, s:o, s:o}", "problem", line, "pass", pass,
                                        "before", json_number_or_name(l->before), "after",
                                        json_number_or_name(l->after), "quotient",
                                        json_number_or_name(l->quotient)));
    }
    json_object_set_new(r->object, "problems", problems);
}

static int cannot_be(tuning_run *r, const char *what)
{
    snprintf(r->error, sizeof r->error, "the cache's file of tuned numbers cannot be %s", what);
    return SBN_IO_ERROR;
}

static int keep(tuning_run *r, int folder)
{
    char name[SBN_CACHE_NAME], text[SBN_TUNING_TEXT];
    if (!sbn__tuning_keep(folder, r->device->id, r->form, &r->best, name))
        return cannot_be(r, "written");
    sbn__tuning_print(&r->best, text);
    json_object_set_new(r->object, "kept", json_string(text));
    json_object_set_new(r->object, "file", json_string(name));
    if (!r->quiet)
        printf("  kept: %s, in %s in the cache's folder\n", text, name);
    return SBN_SUCCESS;
}

/* Removes what was kept: on the user's word that of both forms, unless one is named. */
static int forget(tuning_run *r, int folder)
{
    const int asked = r->options->forget, all = asked && r->options->form == SBN_FORM_AUTO;
    int done = 1;
    for (int form = SBN_FORM_CPU; form <= SBN_FORM_GPU && folder >= 0; ++form)
        if (all || form == (int)r->form)
            done &= sbn__tuning_forget(folder, r->device->id, (sbn_kernel_form)form);
    if (!done)
        return cannot_be(r, "removed");
    json_object_set_new(r->object, "kept", json_null());
    if (!r->quiet)
        printf("  nothing is kept%s\n",
               asked ? "" : ": no number's gain exceeds 2 % and the noise");
    return SBN_SUCCESS;
}

static int measure(tuning_run *r, int folder)
{
    static const sbn_tuning plan;
    static tuner_comparison result;
    sbn_tuning kept;
    int status = SBN_SUCCESS;
    if (sbn__tuning_load(folder, r->device->id, r->form, &kept)) {
        status = try(r, &plan, &kept, &result, r->options->budget.seconds);
        if (!status && result.gain)
            r->best = kept;
    }
    for (int n = 0; n < SBN_TUNED && !status; ++n) {
        int gained = 0;
        if (n == SBN_TUNED_CACHE && r->form == SBN_FORM_GPU)
            continue;
        status = search(r, n, 1, &gained);
        if (!status && !gained)
            status = search(r, n, 0, &gained);
    }
    if (status || memcmp(&r->best, &plan, sizeof plan) == 0)
        return status ? status : forget(r, folder);
    /* Gains by chance that were taken one by one must stand together, in new rounds. */
    if (!r->quiet)
        puts("  together, once more:");
    status = try(r, &plan, &r->best, &result, 3 * r->options->budget.seconds);
    if (status)
        return status;
    report_lines(r, &result);
    return result.gain ? keep(r, folder) : forget(r, folder);
}

static int tune_device(tuning_run *r, int folder)
{
    const problem *problems[TUNER_PROBLEMS];
    const problem_list *list = &r->options->list;
    for (size_t i = 0; i < list->count; ++i)
        problems[i] = &list->problems[i];
    int status = tuner_open(&r->tuner, r->device, r->form, problems, list->count, r->error);
    if (status)
        return status;
    status = measure(r, folder);
    tuner_close(&r->tuner);
    return status;
}

static json_t *begin(tuning_run *r, size_t index)
{
    r->tried = json_array();
    if (!r->quiet)
        printf("device %zu: %s, driver %s, form %s\n", index, r->device->name, r->device->driver,
               form_names[r->form]);
    return json_pack("{s:I, s:o, s:o, s:s, s:o}", "index", (json_int_t)index, "name",
                     json_text(r->device->name), "driver", json_text(r->device->driver), "form",
                     form_names[r->form], "tried", r->tried);
}

static int run(const device_list *list, const command_options *o, json_output *out)
{
    int exit_status = 0;
    const int folder = sbn__cache_open(NULL, !o->forget);
    if (folder < 0 && !o->forget)
        return failure(
            "nothing could be kept: expected $XDG_CACHE_HOME or ~/.cache to hold a folder "
            "syncbn that nobody else may write to");
    json_t *devices = json_array();
    for (size_t i = 0; i < o->devices.count && !exit_status; ++i) {
        const size_t number = o->devices.numbers[i];
        const device_info *d = &list->device[number];
        tuning_run r = {.options = o,
                        .device = d,
                        .form = o->form == SBN_FORM_AUTO ? d->form : o->form,
                        .quiet = json_output_is_stdout(out)};
        r.object = begin(&r, number);
        json_array_append_new(devices, r.object);
        if (o->forget ? forget(&r, folder) : tune_device(&r, folder)) {
            fprintf(stderr, "syncbn: %s\n", r.error); /* whose lines may be a compiler's */
            exit_status = EXIT_FAILED;
        }
    }
    sbn__cache_close(folder);
    const int unwritten = json_output_write(out, json_pack("{s:o}", "devices", devices));
    return unwritten ? unwritten : exit_status;
}

const command tune_command = {.name = "tune",
                              .takes = "dflsx",
                              .help = help,
                              .builtin = builtin,
                              .seconds = 0.5,
                              .settle = settle,
                              .run = run};
