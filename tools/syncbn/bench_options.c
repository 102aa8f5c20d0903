/* The command line of `syncbn bench`. */
#include "syncbn/bench_options.h"

#include <ctype.h>
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "syncbn/command.h"
#include "syncbn/json_output.h"

static const char help[] =
    "usage: syncbn bench [options] [problem...]\n"
    "\n"
    "Times each problem's passes on one device, in turns with copies of the same\n"
    "tensor, and prints which share of the copy's speed they reach; then checks\n"
    "every result. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST        numbers of `syncbn devices`, as 0,1; the first is measured\n"
    "                        alone; or cpu, gpu, accelerator: every usable one of this\n"
    "                        type (every usable device)\n"
    "  --form FORM           of the kernels: auto, cpu or gpu\n"
    "  --build-options TEXT  for the OpenCL compiler, of the library's kernels\n"
    "  --file FILE           problems, one a line; # begins a comment, and what\n"
    "                        stands behind a problem is not looked at\n"
    "  --seconds S           to measure each problem (2), at least 7 rounds\n"
    "  --repeats N           so many rounds instead, 1 to 1024\n"
    "  --json FILE           also writes all numbers to FILE, or, if it is -, to standard\n"
    "                        output and nothing else there\n"
    "\n"
    "Problems are those of syncbn check (see its --help), without off, shuffle, sizes,\n"
    "ooo, inplace, passes, keep, accumulate and global. r and split are the replicas of\n"
    "synchronised and apart; alone the library has the whole batch on one.\n"
    "\n"
    "A line has a pass, who ran it, the median time [and its quartiles], bytes moved per\n"
    "second, and the share of the fastest copy's speed. Who runs:\n"
    "\n"
    "  syncbn         the library, on one device\n"
    "  plain          a copy, an element an item\n"
    "  vector         a copy by vectors\n"
    "  nontemporal    the same, past the caches\n"
    "  clEnqueueCopyBuffer  the driver's copy\n"
    "  unordered      fast kernels that sum in any order, so that bits depend on how work is cut\n"
    "  baseline       simple kernels, as many OpenCL libraries have: a work-group to a channel\n"
    "  synchronised   the library on two replicas (or r, split), which share statistics\n"
    "  apart          the same replicas, each with its own statistics\n"
    "  onednn LAYOUT  oneDNN on the CPU\n"
    "  f32            of f16 and bf16: the library on the same numbers in f32\n"
    "  norm alone     of relu and leaky: the library without the activation\n"
    "  separate       of relu, leaky and add: with kernels of their own for these\n"
    "  from x         of output: the library with its ordinary backward pass\n"
    "  dense          of pitch: the library on tensors without gaps\n"
    "\n"
    "\"returned after\" is when the library's call had returned, before or after the device was\n"
    "done. \"syncbn takes +5 % against unordered\" compares times, round by round.\n"
    "\n"
    "Examples:\n"
    "  syncbn bench                                 a short list, on the first usable device\n"
    "  syncbn bench mb32ic64ih56iw56,last,relu      one problem\n"
    "  syncbn bench --seconds 10 --json bench.json  longer, with all numbers in a file\n"
    "\n"
    "Exit status: 0 all right, 1 a wrong result or an error, 2 wrong usage.\n";

static const char *const builtin[] = {
    "mb32ic64ih56iw56", "mb32ic64ih56iw56,last", "mb32ic512ih7iw7", "mb1024ic1024", NULL,
};

static int read_option(int option, bench_options *o, sbn_kernel_form *form)
{
    char *end;
    switch (option) {
    case 'd': return device_choice_read(optarg, &o->devices);
    case 'f':
        return form_parse(optarg, form)
                   ? usage_error("--form %s: expected auto, cpu or gpu", optarg)
                   : 0;
    case 'b': o->build_options = optarg; return 0;
    case 'l': return problem_list_read(&o->list, optarg);
    case 's':
        o->budget.seconds = strtod(optarg, &end);
        return *end || end == optarg || !(o->budget.seconds >= 0) || isinf(o->budget.seconds)
                   ? usage_error("--seconds %s: expected a number from 0", optarg)
                   : 0;
    case 'r':
        o->budget.rounds = strtoul(optarg, &end, 10);
        return *end || !isdigit((unsigned char)*optarg) || o->budget.rounds < 1 ||
                       o->budget.rounds > SPREAD_MAX
                   ? usage_error("--repeats %s: expected 1 to %d", optarg, SPREAD_MAX)
                   : 0;
    default: return json_output_read(optarg, &o->json);
    }
}

/* Problems that cannot be measured are found before anything is. */
static int settle(bench_options *o, sbn_kernel_form form)
{
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < o->list.count; ++i) {
        problem *p = &o->list.problems[i];
        const char *why = bench_refuses(p);
        if (form != SBN_FORM_AUTO)
            p->form = form;
        if (why) {
            problem_print(p, line, sizeof line);
            return usage_error("%s cannot be measured: %s", line, why);
        }
    }
    return 0;
}

static int read_all(int argc, char **argv, bench_options *o)
{
    static const struct option options[] = {{"devices", required_argument, NULL, 'd'},
                                            {"form", required_argument, NULL, 'f'},
                                            {"build-options", required_argument, NULL, 'b'},
                                            {"file", required_argument, NULL, 'l'},
                                            {"seconds", required_argument, NULL, 's'},
                                            {"repeats", required_argument, NULL, 'r'},
                                            {"json", required_argument, NULL, 'j'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    sbn_kernel_form form = SBN_FORM_AUTO;
    int option, failed = 0, listed = 0;
    opterr = 0;
    while (!failed && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        listed |= option == 'l';
        failed = option == '?' || option == ':' ? usage_wrong_option(option, argv, "bench", options)
                                                : read_option(option, o, &form);
    }
    failed = failed ? failed : problem_list_operands(&o->list, argc, argv, listed, builtin);
    failed = failed ? failed : settle(o, form);
    return failed ? failed + 1 : 0;
}

int bench_options_read(int argc, char **argv, bench_options *o)
{
    *o = (bench_options){.budget = {.seconds = 2}};
    int ended = read_all(argc, argv, o);
    if (ended)
        bench_options_free(o);
    return ended;
}

void bench_options_free(bench_options *o)
{
    problem_list_free(&o->list);
}
