#include "syncbn/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"

enum { LINE = PROBLEM_LINE + 512 };

/* Seconds after which a terminal shows the progress. */
static const double progress_after = 1.0;

/* The command line that repeats one problem. */
static void write_rerun(const report *r, const problem *p, char *text, size_t size)
{
    char line[PROBLEM_LINE], devices[8 * DEVICE_CHOICE_MAX] = "";
    problem_print(p, line, sizeof line);
    for (size_t i = 0; i < r->options->devices.count; ++i)
        sbn__text_add(devices, sizeof devices, "%s%zu", i ? "," : "",
                      r->options->devices.numbers[i]);
    snprintf(text, size, "syncbn check --devices %s ", devices);
    if (r->options->build_options) {
        sbn__text_add(text, size, "--build-options '");
        for (const char *at = r->options->build_options; *at; ++at)
            sbn__text_add(text, size, "%s%.1s", *at == '\'' ? "'\\'" : "", at);
        sbn__text_add(text, size, "' ");
    }
    sbn__text_add(text, size, "%s", line);
}

void report_begin(report *r)
{
    r->start = sbn__seconds();
    r->problems = json_array();
    if (r->options->format == REPORT_TAP)
        printf("1..%zu\n", r->options->list.count);
    int listed = r->options->format == REPORT_TAP || r->options->format == REPORT_TEXT;
    for (size_t i = 0; i < r->options->devices.count && listed; ++i) {
        const device_info *d = &r->devices->device[r->options->devices.numbers[i]];
        printf("%sdevice %zu: %s\n", r->options->format == REPORT_TAP ? "# " : "",
               r->options->devices.numbers[i], d->name);
    }
    if (r->options->format == REPORT_TEXT)
        printf("%-4s  %-22s  problem\n", "", "error / tolerance in");
    fflush(stdout);
}

void report_progress(report *r, const problem *p)
{
    char line[PROBLEM_LINE];
    if (sbn__seconds() - r->start < progress_after)
        return;
    problem_print(p, line, sizeof line);
    progress_show(r->done + 1, r->options->list.count, r->failed, line, 0);
}

/* "y 0.12  dx 0.08": the largest error / tolerance of each output. */
static void summarise(const check_result *result, char *text, size_t size)
{
    *text = 0;
    if (result->refused) {
        snprintf(text, size, "refused, as it must be");
        return;
    }
    for (int id = 0; id < OUTPUTS; ++id) {
        const verdict *v = &result->comparison.of[id];
        if (v->judged)
            sbn__text_add(text, size, "%s%s %.2g", *text ? "  " : "", output_names[id], v->ratio);
        if (v->unbounded)
            sbn__text_add(text, size, " (%zu unbounded)", v->unbounded);
    }
    if (result->ok && result->bits_known)
        sbn__text_add(text, size, "; the recorded bits");
}

/* Why a problem failed, line by line. */
static void explain(const check_result *result, const char *prefix, const char *again)
{
    char text[LINE];
    if (*result->error) {
        /* A compiler says several lines. */
        for (const char *at = result->error; *at; at += *at == '\n') {
            const int length = (int)strcspn(at, "\n");
            printf("%s%.*s\n", prefix, length, at);
            at += length;
        }
    } else if (!result->comparison.counts_ok) {
        printf("%scount %" PRIu64 ", expected %zu, or batches tracked %" PRId64 " wrong\n", prefix,
               result->outputs.count, result->placement.values, result->outputs.batches);
    }
    for (int id = 0; id < OUTPUTS; ++id) {
        if (result->comparison.of[id].failures == 0)
            continue;
        compare_explain(&result->placement, &result->outputs, &result->comparison, (output_id)id,
                        text, sizeof text);
        printf("%s%s\n", prefix, text);
    }
    printf("%sagain: %s\n", prefix, again);
}

/* A line of a table: the output that used most of its tolerance, and the problem. */
static void print_worst(const check_result *result, const char *line)
{
    const verdict *of = result->comparison.of;
    int worst = -1;
    for (int id = 0; id < OUTPUTS; ++id)
        if (of[id].judged && (worst < 0 || !(of[id].ratio <= of[worst].ratio)))
            worst = id;
    printf("%-4s  ", result->ok ? "ok" : "FAIL");
    if (result->refused || worst < 0)
        printf("%-22s", result->refused ? "refused, as it must be" : "no result");
    else
        printf("%-7.2g  %-13s", of[worst].ratio, output_names[worst]);
    printf("  %s\n", line);
}

static json_t *output_json(const check_result *result, output_id id)
{
    const verdict *v = &result->comparison.of[id];
    const output *o = &result->outputs.of[id];
    char text[96];
    snprintf(text, sizeof text, "%016" PRIx64, o->digest);
    json_t *object = json_pack("{s:s, s:I, s:I, s:I, s:o}", "digest", text, "values",
                               (json_int_t)o->count, "failures", (json_int_t)v->failures,
                               "unbounded", (json_int_t)v->unbounded, "ratio",
                               json_number_or_name(v->ratio));
    if (v->judged && o->count) {
        compare_where(&result->placement, id, v->index, text, sizeof text);
        json_t *worst = json_pack("{s:s, s:o, s:o, s:o, s:o}", "where", text, "error",
                                  json_number_or_name(v->error), "tolerance",
                                  json_number_or_name(v->tolerance), "got",
                                  json_number_or_name(v->got), "expected",
                                  json_number_or_name(v->expected));
        json_object_update(object, worst);
        json_decref(worst);
    }
    return object;
}

static json_t *result_json(const check_result *result, const char *line, const char *again)
{
    json_t *of = json_object(), *wide = NULL;
    wide = result->outputs.wide < 0 ? json_null() : json_boolean(result->outputs.wide);
    for (int id = 0; id < OUTPUTS; ++id)
        if (result->outputs.of[id].data)
            json_object_set_new(of, output_names[id], output_json(result, (output_id)id));
    return json_pack("{s:s, s:b, s:b, s:s, s:o*, s:b, s:f, s:o, s:o, s:o}", "problem", line, "ok",
                     result->ok, "refused", result->refused, "status",
                     sbn_status_name(result->status), "error",
                     *result->error ? json_text(result->error) : NULL, "bits_compared",
                     result->bits_known, "seconds", result->seconds, "wide", wide, "again",
                     json_text(again), "outputs", of);
}

void report_result(report *r, const problem *p, const check_result *result)
{
    char line[PROBLEM_LINE], ratios[LINE], words[DIGESTS_TEXT];
    /* 4 LINE: for --build-options, quoted. */
    char again[4 * LINE + PROBLEM_LINE + 8 * DEVICE_CHOICE_MAX];
    problem shown = *p;
    progress_clear();
    /* As many replicas as have local gradients of weight and bias. */
    if (r->options->format == REPORT_DIGESTS && !(p->backward_flags & SBN_GLOBAL_GRADIENTS))
        problem_set_replicas(&shown, result->placement.replicas);
    problem_print(&shown, line, sizeof line);
    summarise(result, ratios, sizeof ratios);
    digests_print(&result->digests, words, sizeof words);
    ++r->done;
    r->failed += !result->ok;
    r->recorded += result->ok && result->bits_known;
    write_rerun(r, p, again, sizeof again);
    json_array_append_new(r->problems, result_json(result, line, again));
    switch (r->options->format) {
    case REPORT_NONE: return;
    case REPORT_TAP:
        printf("%s %zu - %s (%s)\n", result->ok ? "ok" : "not ok", r->done, line, ratios);
        break;
    case REPORT_DIGESTS: printf("%s%s%s\n", result->ok ? "" : "# not ok: ", line, words); break;
    default:
        print_worst(result, line);
        if (r->options->verbose && !result->refused)
            printf("      %s\n", ratios);
    }
    if (!result->ok)
        explain(result, r->options->format == REPORT_TEXT ? "      " : "# ", again);
    fflush(stdout);
}

int report_end(report *r)
{
    progress_clear();
    if (r->options->format == REPORT_TEXT) {
        printf("%zu problem%s, %zu failed", r->done, r->done == 1 ? "" : "s", r->failed);
        if (r->recorded)
            printf(", %zu with the recorded bits", r->recorded);
        printf("; %.1f s\n", sbn__seconds() - r->start);
    }
    json_t *devices = json_array();
    for (size_t i = 0; i < r->options->devices.count; ++i)
        json_array_append_new(
            devices,
            json_pack("{s:I, s:o}", "index", (json_int_t)r->options->devices.numbers[i], "name",
                      json_text(r->devices->device[r->options->devices.numbers[i]].name)));
    const int unwritten = json_output_write(r->out, json_pack("{s:o, s:I, s:o}", "devices", devices,
                                                              "failed", (json_int_t)r->failed,
                                                              "problems", r->problems));
    return r->failed || unwritten ? EXIT_FAILED : 0;
}
