/* The command line of `syncbn check`. */
#include "syncbn/options.h"

#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syncbn/command.h"
#include "syncbn/json_output.h"

static const char help[] =
    "usage: syncbn check [options] [problem...]\n"
    "\n"
    "Runs each problem and compares every result with a float64 reference, within\n"
    "a tolerance derived from the problem's own numbers; prints the largest\n"
    "error / tolerance. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST        numbers of `syncbn devices`, as 0,1: replicas are dealt\n"
    "                        to them in turn; or cpu, gpu, accelerator: every usable\n"
    "                        one of this type (every usable device)\n"
    "  --replicas R          instead of the problems' own (one per device)\n"
    "  --form FORM           of the kernels: auto, cpu or gpu\n"
    "  --build-options TEXT  for the OpenCL compiler\n"
    "  --file FILE           problems, one a line; # begins a comment. Digests behind\n"
    "                        a problem must come out bit by bit\n"
    "  --tap                 another form of the report\n"
    "  --digests             prints such a file instead, with the digests of here\n"
    "  --json FILE           also writes all numbers to FILE, or, if it is -, to standard\n"
    "                        output and nothing else there\n"
    "\n"
    "A problem is a shape and settings with commas between:\n"
    "\n"
    "  mb32ic64ih112iw112,last,split5-0-27,data=large_mean,eps=0.001\n"
    "\n"
    "  shape     mb ic [il | ih iw | id ih iw]\n"
    "  spread    r3  split5-0-27  sizes7x7-14x5  shuffle3  off3  pitch3  last\n"
    "  numbers   data=KIND  grad=KIND  seed7; KIND: normal large_mean one tiny_var outlier\n"
    "            constant zero denormal wide huge nan inf ninf exact border step\n"
    "  storage   f16  bf16, of x, y, dy, dx and the residual (f32)\n"
    "  fused     relu  leaky  leaky=0.2  add, of a residual, before the activation\n"
    "  layer     eps=1e-3  clamp  momentum=0.3  cumulative  plain  untracked\n"
    "  passes    passes=fber  keep  accumulate  global  ooo  inplace  form=gpu\n"
    "\n"
    "Exit status: 0 all passed, 1 something failed, 2 wrong usage.\n";

/* What is checked when nothing is named: each layout, rank and kind of data that often errs. */
static const char *const builtin[] = {
    "mb32ic64",
    "mb8ic16il50",
    "mb8ic16ih28iw28",
    "mb8ic16ih28iw28,last",
    "mb2ic5id3ih9iw7",
    "mb5ic3ih61iw67,off3",
    "mb16ic32ih7iw7,r3,global",
    "mb8ic12ih5iw5,last,split5-0-3",
    "mb8ic16ih28iw28,data=large_mean,grad=one",
    "mb8ic16ih28iw28,data=exact,grad=exact",
    "mb4ic6ih9iw9,data=nan",
    "mb8ic16ih28iw28,untracked,plain",
    NULL,
};

typedef struct overrides {
    unsigned long replicas; /* 0: none */
    sbn_kernel_form form;   /* SBN_FORM_AUTO: none */
    int listed;             /* problems were named, by file or by themselves */
} overrides;

static int read_option(int option, check_options *o, overrides *over)
{
    char *end;
    switch (option) {
    case 'd': return device_choice_read(optarg, &o->devices);
    case 'r':
        over->replicas = strtoul(optarg, &end, 10);
        if (!isdigit((unsigned char)*optarg) || *end || over->replicas < 1 ||
            over->replicas > PROBLEM_MAX_REPLICAS)
            return usage_error("--replicas %s: expected 1 to %d", optarg, PROBLEM_MAX_REPLICAS);
        return 0;
    case 'f':
        return form_parse(optarg, &over->form)
                   ? usage_error("--form %s: expected auto, cpu or gpu", optarg)
                   : 0;
    case 'b': o->build_options = optarg; return 0;
    case 'l': over->listed = 1; return problem_list_read(&o->list, optarg);
    case 'j': return json_output_read(optarg, &o->json);
    case 'g': o->format = REPORT_DIGESTS; return 0;
    default: o->format = REPORT_TAP; return 0;
    }
}

static int read_all(int argc, char **argv, check_options *o)
{
    static const struct option options[] =
        {{"devices", required_argument, NULL, 'd'}, {"replicas", required_argument, NULL, 'r'},
         {"form", required_argument, NULL, 'f'},    {"build-options", required_argument, NULL, 'b'},
         {"file", required_argument, NULL, 'l'},    {"json", required_argument, NULL, 'j'},
         {"tap", no_argument, NULL, 't'},           {"digests", no_argument, NULL, 'g'},
         {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};
    overrides over = {0, SBN_FORM_AUTO, 0};
    int option, failed = 0;
    opterr = 0;
    while (!failed && (option = getopt_long(argc, argv, ":h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 1;
        }
        failed = option == '?' || option == ':' ? usage_wrong_option(option, argv, "check", options)
                                                : read_option(option, o, &over);
    }
    if (!failed && o->json && strcmp(o->json, "-") == 0) {
        failed = o->format == REPORT_TEXT
                     ? 0
                     : usage_error("--json - and --%s both write to standard output",
                                   o->format == REPORT_TAP ? "tap" : "digests");
        o->format = REPORT_NONE;
    }
    failed = failed ? failed : problem_list_operands(&o->list, argc, argv, over.listed, builtin);
    for (size_t i = 0; i < o->list.count && !failed; ++i) {
        if (over.replicas)
            problem_set_replicas(&o->list.problems[i], over.replicas);
        if (over.form != SBN_FORM_AUTO)
            o->list.problems[i].form = over.form;
    }
    return failed ? failed + 1 : 0;
}

int options_read(int argc, char **argv, check_options *o)
{
    memset(o, 0, sizeof *o);
    int ended = read_all(argc, argv, o);
    if (ended)
        options_free(o);
    return ended;
}

void options_free(check_options *o)
{
    problem_list_free(&o->list);
}
