/* syncbn check */
#include <stdio.h>
#include <string.h>

#include "syncbn/options.h"
#include "syncbn/report.h"

static const char help[] =
    "usage: syncbn check [options] [problem...]\n"
    "\n"
    "Runs each problem and compares every result with a float64 reference, within a\n"
    "tolerance derived from the problem's own numbers. A line for each problem shows the\n"
    "result with the largest error / tolerance. Without problems: a short list of its own.\n"
    "\n"
    "  --devices LIST        numbers of `syncbn devices`, as 0,1: replicas are dealt\n"
    "                        to them in turn; or cpu, gpu, accelerator: every usable\n"
    "                        one of this type (every usable device)\n"
    "  --replicas R          instead of the problems' own (one per device)\n"
    "  --form FORM           of the kernels: auto, cpu or gpu\n"
    "  --build-options TEXT  for the OpenCL compiler\n"
    "  --file FILE           problems, one a line; # begins a comment. Digests behind\n"
    "                        a problem must come out bit by bit\n"
    "  -v, --verbose         shows error / tolerance of all results\n"
    "  --tap                 prints TAP, for test harnesses\n"
    "  --digests             prints a file for --file, with the digests of here\n"
    "  --json FILE           also writes all numbers to FILE, or, if it is -, to standard\n"
    "                        output and nothing else there\n"
    "\n"
    "A problem is a shape and settings with commas between, as in\n"
    "\n"
    "  mb32ic64ih112iw112,last,split5-0-27,data=large_mean\n"
    "\n"
    "The shape is written as in oneDNN's benchdnn: letters, each with its number.\n"
    "\n"
    "  mb32            32 samples (a minibatch), of all replicas together\n"
    "  ic64            64 channels (\"input channels\")\n"
    "  il50            a length of 50: the tensor is (N, C, L)\n"
    "  ih28iw30        28 rows of 30 pixels: (N, C, H, W)\n"
    "  id9ih28iw30     9 slices of these: (N, C, D, H, W)\n"
    "\n"
    "Each setting changes what is in parentheses:\n"
    "\n"
    "  f16, bf16       how x, y, dy, dx and the residual are stored (f32)\n"
    "  relu, leaky     ReLU or leaky ReLU after the batch norm; leaky=0.2: its slope\n"
    "  add             a residual is added, before the activation\n"
    "  output          backward reads y instead of x; neither with relu nor add\n"
    "  last            channels last in memory, as (N, H, W, C) (channels first)\n"
    "  r3              3 replicas, samples are dealt evenly (one per device)\n"
    "  split5-0-27     3 replicas, of 5, 0 and 27 samples\n"
    "  sizes7x7-14x5   rows and pixels of each replica's samples; needs split\n"
    "  shuffle3        samples are dealt in a random order, 3 being its seed (in order)\n"
    "  off3            buffers start 3, 6 or 9 elements into their memory (0)\n"
    "  pitch3          x, y, dy and dx are parts of wider tensors, of which 3, 6 or 9\n"
    "                  elements lie between samples, or between pixels if last (0)\n"
    "  xpitch3         x alone; dpitch3: dy and dx alone\n"
    "  data=KIND       what x holds (normal)\n"
    "  grad=KIND       what dy holds (normal)\n"
    "  seed7           of the random numbers (1)\n"
    "  eps=1e-3        of the layer (1e-5)\n"
    "  clamp           the variance is at least eps (eps is added to it)\n"
    "  momentum=0.3    of the running statistics (0.1)\n"
    "  cumulative      running statistics are the plain mean of all batches\n"
    "  plain           a layer without weight and bias\n"
    "  untracked       a layer without running statistics\n"
    "  keep            forward leaves the running statistics alone\n"
    "  accumulate      backward adds to weight_grad and bias_grad\n"
    "  global          weight_grad and bias_grad are sums over all replicas (over each one)\n"
    "  passes=fe       which run: forward, backward, evaluation, recomputation (fber)\n"
    "  ooo             out-of-order queues, passes are ordered by events\n"
    "  inplace         y is written over x (in f only with output or frozen), the gradient\n"
    "                  over dy\n"
    "  nodx, nograd    backward is not asked for dx, for the gradient of the residual\n"
    "  frozen          the layer normalises by its running statistics, which stay\n"
    "  host            tensors are in memory of the host, not in buffers\n"
    "  copied          there, as if the device copied it and had no caches\n"
    "  byhost          the host combines what devices have summed, even if they could\n"
    "  begin           passes begin and end in two calls (in one)\n"
    "  stored          backward has statistics that were stored to bytes and loaded\n"
    "  given1          replica 1 and those behind it keep running statistics in buffers\n"
    "  branch1         a pass of two layers, this one behind another (0: before it)\n"
    "  form=gpu        the kernels for GPUs; form=cpu: for CPUs (as fits the device)\n"
    "\n"
    "KIND is normal or one of\n"
    "\n"
    "  large_mean      1000 +- 0.003\n"
    "  one             1 +- 1e-5\n"
    "  tiny_var        a variance far below eps\n"
    "  outlier         normal, but for a first element of 1e6\n"
    "  constant        one value everywhere\n"
    "  zero, zeros     0 everywhere; 0 and -0\n"
    "  denormal        subnormal numbers\n"
    "  wide            a magnitude of its own for each channel, from 2^-40 to 2^40\n"
    "  huge            squares overflow\n"
    "  largest         2^127 and -2^127, of which sums overflow, too\n"
    "  nan, inf, ninf  one such value, in the middle channel\n"
    "  exact           integers whose sums need no rounding\n"
    "  border, step    the first 16 of each 256 elements differ from the others\n"
    "  peak            one of the 16 elements behind them is 1000 spreads above the others\n"
    "  infs            Inf in the first sample, -Inf in the last, of the middle channel\n"
    "\n"
    "Examples:\n"
    "  syncbn check                                   every usable device\n"
    "  syncbn check mb8ic16ih28iw28,last,r3           one problem on three replicas\n"
    "  syncbn check --devices gpu --file problems -v  a file of them, with all figures\n"
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

static int settle(command_options *o)
{
    if (!o->json || strcmp(o->json, "-") != 0)
        return 0;
    const report_format also = o->format;
    o->format = REPORT_NONE;
    return also == REPORT_TEXT ? 0
                               : usage_error("--json - and --%s both write to standard output",
                                             also == REPORT_TAP ? "tap" : "digests");
}

static int run(const device_list *list, const command_options *o, json_output *json)
{
    const size_t count = o->devices.count;
    cl_device_id ids[DEVICE_CHOICE_MAX];
    char error[RUNNER_ERROR];
    for (size_t i = 0; i < count; ++i)
        ids[i] = list->device[o->devices.numbers[i]].id;
    runner_config config = {.devices = ids,
                            .num_devices = count,
                            .build_options = o->build_options};
    queues *r;
    if (queues_open(&config, &r, error))
        return failure("%s", error);
    report to = {.options = o, .devices = list, .out = json};
    report_begin(&to);
    for (size_t i = 0; i < o->list.count; ++i) {
        check_result result;
        report_progress(&to, &o->list.problems[i]);
        /* New digests are not compared with those of the list. */
        check_run(r, &o->list.problems[i],
                  o->format == REPORT_DIGESTS ? NULL : &o->list.recorded[i], &result);
        report_result(&to, &o->list.problems[i], &result);
        check_free(&result);
    }
    queues_close(r);
    return report_end(&to);
}

const command check_command = {.name = "check",
                               .takes = "dflrbvtg",
                               .help = help,
                               .builtin = builtin,
                               .settle = settle,
                               .run = run};
