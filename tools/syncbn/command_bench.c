/* syncbn bench */
#include <stdio.h>

#include "syncbn/bench_report.h"
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

static int run_list(const bench *b, const command_options *o, bench_report *report)
{
    size_t failed = 0;
    for (size_t i = 0; i < o->list.count; ++i) {
        const problem *p = &o->list.problems[i];
        char line[PROBLEM_LINE];
        static bench_result result;
        problem_print(p, line, sizeof line);
        /* The growing table shows the progress itself. */
        progress_show(i + 1, o->list.count, failed, line, json_output_is_stdout(report->out));
        bench_run(b, p, &result);
        progress_clear();
        failed += !result.ok;
        bench_report_problem(report, p, &result);
    }
    return failed ? EXIT_FAILED : 0;
}

static int run(const device_list *list, const command_options *o, json_output *out)
{
    const device_info *devices[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    bench b = {.devices = devices,
               .num_devices = o->devices.count,
               .build_options = o->build_options,
               .budget = o->budget};
    bench_report report;
    for (size_t i = 0; i < o->devices.count; ++i)
        devices[i] = &list->device[o->devices.numbers[i]];
    if (bench_open(&b, error))
        return failure("%s", error);
    bench_report_begin(&report, list, &o->devices, out);
    const int exit_status = run_list(&b, o, &report);
    queues_close(b.queues);
    const int unwritten = bench_report_end(&report);
    return unwritten ? unwritten : exit_status;
}

const command bench_command = {.name = "bench",
                               .takes = "dflbsn",
                               .help = help,
                               .builtin = builtin,
                               .seconds = 2,
                               .settle = settle,
                               .run = run};
