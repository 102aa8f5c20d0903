/* The command lines of `syncbn bench` and `syncbn tune`. */
#include <getopt.h>

#include "bench/bench.h"
#include "bench/tuner.h"
#include "syncbn/safe_text.h"
#include "syncbn/options.h"

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

static const struct option options[] = {OPTIONS_OF_PROBLEMS,
                                        {"build-options", required_argument, NULL, 'b'},
                                        {"seconds", required_argument, NULL, 's'},
                                        {"repeats", required_argument, NULL, 'n'},
                                        {NULL, 0, NULL, 0}};

/* Problems that cannot be measured are found before anything is. */
static int settle(command_options *o)
{
    char line[PROBLEM_LINE];
    for (size_t i = 0; i < o->list.count; ++i) {
        const char *why = bench_refuses(&o->list.problems[i]);
        problem_print(&o->list.problems[i], line, sizeof line);
        if (why)
            return usage_error("%s cannot be measured: %s", line, why);
    }
    return 0;
}

const usage bench_usage = {"bench", ":h", help, options, builtin, settle};

static const char tune_help[] =
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

static const char *const tune_builtin[] = {
    "mb32ic64ih112iw112", "mb32ic256ih28iw28,last", "mb8ic256ih14iw14", "mb1024ic1024", NULL,
};

static const struct option tune_options[] = {OPTIONS_OF_PROBLEMS,
                                             {"seconds", required_argument, NULL, 's'},
                                             {"forget", no_argument, NULL, 'x'},
                                             {NULL, 0, NULL, 0}};

static int tune_settle(command_options *o)
{
    return o->list.count > TUNER_PROBLEMS
               ? usage_error("expected at most %d problems, got %zu", TUNER_PROBLEMS, o->list.count)
               : settle(o);
}

const usage tune_usage = {"tune", ":h", tune_help, tune_options, tune_builtin, tune_settle};
