/* syncbn inspect */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <syncbn.h>

#include "syncbn/options.h"

static const char help[] =
    "usage: syncbn inspect [--json FILE] FILE...\n"
    "\n"
    "The batch normalisation layers of checkpoints in safetensors format: channels, the\n"
    "ranges of weight, running mean and running variance, how many batches were tracked\n"
    "(- where the file does not say), and what looks wrong: NaN or Inf, a variance below\n"
    "or at 0, tensors of wrong shapes, a layer that was never trained. Layers are found by\n"
    "their keys, NAME.running_mean and NAME.running_var. No device is needed.\n"
    "\n"
    "  --json FILE  also writes all of it to FILE, or, if it is -, to standard output and\n"
    "               nothing else there; not where a checkpoint cannot be read\n"
    "\n"
    "Examples:\n"
    "  syncbn inspect model.safetensors       one checkpoint\n"
    "  syncbn inspect --json - *.safetensors  several, as JSON\n"
    "\n"
    "Exit status: 0, 1 if something looks wrong or a file cannot be read, 2 wrong usage.\n";

/* --- what a layer holds -------------------------------------------------------------------------- */

enum { WEIGHT, BIAS, MEAN, VAR, LAYER_TENSORS };

static const char *const tensor_words[LAYER_TENSORS] = {"weight", "bias", "mean", "variance"};

/* A tensor's range, over what is finite, and the rest. */
typedef struct tensor_range {
    float least, most; /* NaN if nothing is finite */
    size_t not_finite;
} tensor_range;

typedef struct layer_report {
    sbn_layer_info layer;
    int readable; /* 0: only the problems hold */
    tensor_range range[LAYER_TENSORS];
    int64_t batches;
    json_t *problems; /* sentences: what looks wrong */
} layer_report;

static tensor_range range_of(const float *values, size_t count)
{
    tensor_range range = {NAN, NAN, 0};
    for (size_t i = 0; i < count; ++i) {
        if (isfinite(values[i])) {
            /* fmin ignores NaN. */
            range.least = fminf(range.least, values[i]);
            range.most = fmaxf(range.most, values[i]);
        } else {
            ++range.not_finite;
        }
    }
    return range;
}

static void add_problem(layer_report *r, const char *sentence)
{
    json_array_append_new(r->problems, json_text(sentence));
}

/* "WHAT in 3 of 64 channels", if there are any. */
static void add_channels(layer_report *r, const char *what, size_t channels)
{
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%s in %zu of %zu channels", what, channels,
             r->layer.channels);
    if (channels)
        add_problem(r, sentence);
}

static void judge(layer_report *r, const float *var)
{
    const tensor_range *mean = &r->range[MEAN], *of_var = &r->range[VAR];
    char sentence[64];
    size_t negative = 0, zero = 0;
    for (size_t c = 0; c < r->layer.channels; ++c) {
        negative += var[c] < 0;
        zero += var[c] == 0;
    }
    for (size_t i = 0; i < LAYER_TENSORS; ++i) {
        snprintf(sentence, sizeof sentence, "%s: NaN or Inf", tensor_words[i]);
        add_channels(r, sentence, r->range[i].not_finite);
    }
    add_channels(r, "variance: negative", negative);
    add_channels(r, "variance: 0", zero);
    snprintf(sentence, sizeof sentence, "num_batches_tracked: %lld", (long long)r->batches);
    if (r->batches < 0)
        add_problem(r, sentence);
    /* The values of a new layer; without a count only they can tell that it was never trained. */
    const int fresh = mean->least == 0 && mean->most == 0 && of_var->least == 1 &&
                      of_var->most == 1 && !mean->not_finite && !of_var->not_finite;
    if (r->batches == 0 && fresh)
        add_problem(r, "never trained: mean 0 and variance 1");
    else if (r->layer.tracked && r->batches == 0)
        add_problem(r, "never trained: no batches tracked");
}

/* Reads a layer; problems are part of the report. Other failures are a status. */
static int read_layer(const sbn_checkpoint *checkpoint, size_t index, layer_report *r)
{
    const size_t channels = r->layer.channels;
    if (channels == 0) {
        add_problem(r, "no channels");
        return SBN_SUCCESS;
    }
    float *values = calloc(channels, LAYER_TENSORS * sizeof *values), *of[LAYER_TENSORS];
    if (!values)
        return SBN_OUT_OF_MEMORY;
    for (size_t i = 0; i < LAYER_TENSORS; ++i)
        of[i] = values + i * channels;
    int status = sbn_checkpoint_read(checkpoint, index, of[WEIGHT], of[BIAS], of[MEAN], of[VAR],
                                     &r->batches);
    r->readable = status == SBN_SUCCESS;
    for (size_t i = 0; i < LAYER_TENSORS && r->readable; ++i)
        r->range[i] = range_of(of[i], channels);
    if (r->readable)
        judge(r, of[VAR]);
    if (status == SBN_KEY_MISMATCH) {
        add_problem(r, sbn_last_error());
        status = SBN_SUCCESS;
    }
    free(values);
    return status;
}

/* --- a layer as a line and as JSON --------------------------------------------------------------- */

/* "-0.25 ... 3", or "-" for what is not there. */
static const char *range_text(char text[48], const tensor_range *range, int there)
{
    if (!there)
        return "-";
    if (isnan(range->least))
        return "not finite";
    snprintf(text, 48, "%.4g ... %.4g", (double)range->least, (double)range->most);
    return text;
}

static void print_padded(const char *text, int width)
{
    const int printed = safe_print(stdout, text);
    printf("%*s", printed < width ? width - printed : 0, "");
}

static void print_layer(const layer_report *r, int width)
{
    char weight[48], mean[48], var[48], batches[24] = "-";
    if (r->readable && r->layer.tracked)
        snprintf(batches, sizeof batches, "%lld", (long long)r->batches);
    print_padded(*r->layer.name ? r->layer.name : "(the network)", width);
    printf("  %8zu  %-4s  %-22s  %-22s  %-22s  %8s", r->layer.channels, r->layer.type,
           range_text(weight, &r->range[WEIGHT], r->readable && r->layer.has_weight),
           range_text(mean, &r->range[MEAN], r->readable),
           range_text(var, &r->range[VAR], r->readable), batches);
    for (size_t i = 0; i < json_array_size(r->problems); ++i) {
        fputs(i ? "; " : "  ! ", stdout);
        safe_print(stdout, json_string_value(json_array_get(r->problems, i)));
    }
    putchar('\n');
}

/* NULL where it is not there. */
static json_t *range_json(const tensor_range *range, int there)
{
    return there ? json_pack("{s:o, s:o, s:I}", "min", json_number_or_name((double)range->least),
                             "max", json_number_or_name((double)range->most), "not_finite",
                             (json_int_t)range->not_finite)
                 : NULL;
}

/* Takes the problems over. */
static json_t *layer_json(const layer_report *r)
{
    const int has_weight = r->readable && r->layer.has_weight;
    const int has_bias = r->readable && r->layer.has_bias;
    json_t *batches = NULL;
    if (r->readable)
        batches = r->layer.tracked ? json_integer(r->batches) : json_null();
    return json_pack("{s:o, s:I, s:o, s:o*, s:o*, s:o*, s:o*, s:o*, s:o}", "name",
                     json_text(r->layer.name), "channels", (json_int_t)r->layer.channels, "type",
                     json_text(r->layer.type), "weight", range_json(&r->range[WEIGHT], has_weight),
                     "bias", range_json(&r->range[BIAS], has_bias), "running_mean",
                     range_json(&r->range[MEAN], r->readable), "running_var",
                     range_json(&r->range[VAR], r->readable), "num_batches_tracked", batches,
                     "problems", r->problems);
}

static int name_width(const sbn_checkpoint *checkpoint)
{
    size_t width = 5;
    for (size_t i = 0; i < sbn_checkpoint_size(checkpoint); ++i) {
        sbn_layer_info layer = SBN_LAYER_INFO_INIT;
        if (sbn_checkpoint_layer(checkpoint, i, &layer) == SBN_SUCCESS &&
            strlen(layer.name) > width)
            width = strlen(layer.name);
    }
    return width < 60 ? (int)width : 60;
}

/* The library's sentence, which names the file. */
static void say(const char *file, int status)
{
    if (*sbn_last_error())
        failure("%s", sbn_last_error());
    else
        failure("%s: %s", file, sbn_strerror(status));
}

/* Every layer as a line and into the array; returns how many look wrong, or a negative status. */
static long show(const sbn_checkpoint *checkpoint, json_t *array, int table)
{
    const int width = name_width(checkpoint);
    long wrong = 0;
    for (size_t i = 0; i < sbn_checkpoint_size(checkpoint); ++i) {
        layer_report report = {.layer = SBN_LAYER_INFO_INIT, .problems = json_array()};
        int status = sbn_checkpoint_layer(checkpoint, i, &report.layer);
        status = status ? status : read_layer(checkpoint, i, &report);
        json_array_append_new(array, layer_json(&report));
        if (status)
            return status;
        if (table)
            print_layer(&report, width);
        wrong += json_array_size(report.problems) > 0;
    }
    return wrong;
}

/* Returns 0, 1 if something looks wrong, or a negative status if the file cannot be read. */
static int inspect(const char *file, json_t *files, int table)
{
    sbn_checkpoint *checkpoint;
    int status = sbn_checkpoint_create(file, &checkpoint);
    if (status) {
        say(file, status);
        return status;
    }
    if (table && sbn_checkpoint_size(checkpoint) == 0) {
        puts("no layer with running statistics");
    } else if (table) {
        printf("%-*s  %8s  %-4s  %-22s  %-22s  %-22s  %8s\n", name_width(checkpoint), "layer",
               "channels", "type", "weight", "mean", "variance", "batches");
    }
    json_t *layers = json_array();
    const long wrong = show(checkpoint, layers, table);
    json_array_append_new(files,
                          json_pack("{s:o, s:o}", "file", json_text(file), "layers", layers));
    if (wrong < 0)
        say(file, (int)wrong);
    sbn_checkpoint_destroy(checkpoint);
    return wrong < 0 ? (int)wrong : wrong > 0;
}

static int run(const device_list *list, const command_options *o, json_output *json)
{
    const int table = !json_output_is_stdout(json);
    json_t *files = json_array();
    int failed = 0, unreadable = 0;
    (void)list;
    for (char **operand = o->operands; *operand; ++operand) {
        if (table && o->operands[1]) {
            fputs(operand > o->operands ? "\n" : "", stdout);
            safe_print(stdout, *operand);
            puts(":");
            fflush(stdout);
        }
        const int status = inspect(*operand, files, table);
        failed |= status != 0;
        unreadable |= status < 0;
    }
    json_t *all = json_pack("{s:o}", "files", files);
    if (unreadable)
        json_decref(all);
    else
        failed |= json_output_write(json, all);
    return failed ? EXIT_FAILED : 0;
}

static int settle(command_options *o)
{
    static const char ending[] = ".safetensors";
    const size_t length = o->json ? strlen(o->json) : 0, end = sizeof ending - 1;
    sbn_checkpoint *found = NULL;
    if (o->json && strcmp(o->json, "-") != 0)
        (void)sbn_checkpoint_create(o->json, &found);
    sbn_checkpoint_destroy(found);
    if (found || (length >= end && strcmp(o->json + length - end, ending) == 0))
        return usage_error(
            "--json %s: expected a file for the report, or - for standard output, got a "
            "checkpoint's name",
            o->json);
    return *o->operands ? 0 : usage_error("inspect: expected a file; see syncbn inspect --help");
}

const command inspect_command =
    {.name = "inspect", .takes = "", .help = help, .settle = settle, .no_devices = 1, .run = run};
