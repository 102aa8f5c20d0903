/* The command line of `syncbn tune`. */
#include "syncbn/tune_options.h"

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/bench.h"
#include "bench/tuner.h"
#include "syncbn/command.h"
#include "syncbn/json_output.h"

static const char help[] =
    "usage: syncbn tune [options] [problem...]\n"
    "\n"
    "Finds numbers of the launch plan that a device is faster with, and keeps them for\n"
    "later groups on this device and driver, beside the compiled programs. Results keep\n"
    "their bits. A number is kept only where it gains more than 2 % and than noise over\n"
    "all problems, and makes none slower. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST  numbers of `syncbn devices`, as 0,1; or cpu, gpu, accelerator:\n"
    "                  every usable one of this type (every usable device)\n"
    "  --form FORM     of the kernels: auto, cpu or gpu\n"
    "  --file FILE     problems, one a line; # begins a comment, and what stands behind\n"
    "                  a problem is not looked at\n"
    "  --seconds S     to compare two plans on a problem (0.5), at least 7 rounds\n"
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

static int read_option(int option, tune_options *o)
{
    char *end;
    switch (option) {
    case 'd': return device_choice_read(optarg, &o->devices);
    case 'f':
        return form_parse(optarg, &o->form)
                   ? usage_error("--form %s: expected auto, cpu or gpu", optarg)
                   : 0;
    case 'l': return problem_list_read(&o->list, optarg);
    case 's':
        o->seconds = strtod(optarg, &end);
        return *end || end == optarg || !(o->seconds >= 0) || isinf(o->seconds)
                   ? usage_error("--seconds %s: expected a number from 0", optarg)
                   : 0;
    case 'g': o->forget = 1; return 0;
    default: return json_output_read(optarg, &o->json);
    }
}

static int check_problems(const tune_options *o)
{
    char line[PROBLEM_LINE];
    if (o->list.count > TUNER_PROBLEMS)
        return usage_error("expected at most %d problems, got %zu", TUNER_PROBLEMS, o->list.count);
    for (size_t i = 0; i < o->list.count; ++i) {
        const char *why = bench_refuses(&o->list.problems[i]);
        problem_print(&o->list.problems[i], line, sizeof line);
        if (why)
            return usage_error("%s cannot be measured: %s", line, why);
    }
    return 0;
}

static int read_all(int argc, char **argv, tune_options *o)
{
    static const struct option options[] = {{"devices", required_argument, NULL, 'd'},
                                            {"form", required_argument, NULL, 'f'},
                                            {"file", required_argument, NULL, 'l'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"forget", no_argument, NULL, 'g'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    int option, failed = 0, listed = 0;
    opterr = 0;
    while (!failed && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        listed |= option == 'l';
        failed = option == '?' || option == ':' ? usage_wrong_option(option, argv, "tune", options)
                                                : read_option(option, o);
    }
    failed = failed ? failed : problem_list_operands(&o->list, argc, argv, listed, builtin);
    failed = failed ? failed : check_problems(o);
    return failed ? failed + 1 : 0;
}

int tune_options_read(int argc, char **argv, tune_options *o)
{
    *o = (tune_options){.seconds = 0.5};
    const int ended = read_all(argc, argv, o);
    if (ended)
        tune_options_free(o);
    return ended;
}

void tune_options_free(tune_options *o)
{
    problem_list_free(&o->list);
}
