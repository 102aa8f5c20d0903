/* The JSON report: one object with every device, problem and series. */
#include "syncbn/bench_report.h"

#include <string.h>

#include "check/elements.h"
#include "check/fusion.h"
#include "syncbn/json.h"

static json_t *spread_json(spread s)
{
    json_t *object = json_object();
    json_object_set_new(object, "count", json_integer((json_int_t)s.count));
    json_object_set_new(object, "median", json_number_or_name(s.median));
    json_object_set_new(object, "quartile1", json_number_or_name(s.quartile1));
    json_object_set_new(object, "quartile3", json_number_or_name(s.quartile3));
    json_object_set_new(object, "least", json_number_or_name(s.least));
    json_object_set_new(object, "most", json_number_or_name(s.most));
    return object;
}

int bench_json_begin(bench_json *j)
{
    j->devices = json_array();
    j->problems = json_array();
    return j->devices && j->problems ? 0 : -1;
}

void bench_json_device(bench_json *j, const device_info *device, size_t number)
{
    json_t *object = json_object();
    json_object_set_new(object, "index", json_integer((json_int_t)number));
    json_object_set_new(object, "name", json_text(device->name));
    json_object_set_new(object, "driver", json_text(device->driver));
    json_object_set_new(object, "type", json_string(device->type));
    json_array_append_new(j->devices, object);
}

static json_t *comparisons_json(const bench_result *result)
{
    comparison_of list[BENCH_MAX_COMPARISONS];
    size_t count = bench_compare(result, list);
    json_t *array = json_array();
    for (size_t i = 0; i < count; ++i) {
        json_t *object = json_object();
        json_object_set_new(object, "pass", json_string(bench_pass_names[list[i].pass]));
        json_object_set_new(object, "of", json_string(list[i].of));
        json_object_set_new(object, "with", json_string(list[i].with));
        json_object_set_new(object, "quotient", spread_json(list[i].quotient));
        json_object_set_new(object, "difference", spread_json(list[i].difference));
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *series_json(const bench_result *result, const series *s)
{
    spread seconds = spread_of(s->seconds, result->rounds);
    json_t *object = json_object();
    json_object_set_new(object, "contender", json_string(s->of->name));
    json_object_set_new(object, "pass", json_string(bench_pass_names[s->pass]));
    json_object_set_new(object, "seconds", spread_json(seconds));
    const spread returned = spread_of(s->returned, result->rounds);
    if (returned.count)
        json_object_set_new(object, "returned", spread_json(returned));
    json_object_set_new(object, "gb_per_s",
                        json_number_or_name(1e-9 * bench_bytes(result, s->pass) / seconds.median));
    json_object_set_new(object, "share_of_copy", spread_json(bench_share_of_copy(result, s)));
    return object;
}

void bench_json_problem(bench_json *j, const problem *p, const bench_result *result)
{
    char line[PROBLEM_LINE];
    json_t *object = json_object(), *list = json_array(), *onednn = json_object();
    problem_print(p, line, sizeof line);
    json_object_set_new(object, "problem", json_string(line));
    json_object_set_new(object, "channels", json_integer((json_int_t)p->channels));
    json_object_set_new(object, "layout",
                        json_string(p->layout == SBN_LAYOUT_NHWC ? "last" : "first"));
    json_object_set_new(object, "type", json_string(type_names[p->type]));
    json_object_set_new(object, "activation", json_string(activation_names[p->activation]));
    json_object_set_new(object, "residual", json_boolean(p->residual));
    json_object_set_new(object, "from_output", json_boolean(p->from_output));
    json_object_set_new(object, "views", json_boolean(p->gap != 0));
    json_object_set_new(object, "bytes", json_integer((json_int_t)result->bytes));
    json_object_set_new(object, "ok", json_boolean(result->ok));
    if (!result->ok)
        json_object_set_new(object, "error", json_text(result->error));
    json_object_set_new(object, "rounds", json_integer((json_int_t)result->rounds));
    json_object_set_new(object, "took", json_real(result->seconds));
    if (result->copy)
        json_object_set_new(object, "fastest_copy", json_string(result->copy));
    for (size_t i = 0; i < result->count && result->rounds && result->copy; ++i)
        json_array_append_new(list, series_json(result, &result->series[i]));
    for (bench_pass pass = BENCH_FORWARD; pass <= BENCH_BACKWARD; ++pass) {
        const char *fastest = bench_onednn_fastest(result, pass);
        if (fastest)
            json_object_set_new(onednn, bench_pass_names[pass], json_string(fastest));
    }
    json_object_set_new(object, "fastest_onednn", onednn);
    json_object_set_new(object, "workspace_bytes", json_integer((json_int_t)result->workspace));
    json_object_set_new(object, "series", list);
    json_object_set_new(object, "comparisons", comparisons_json(result));
    json_array_append_new(j->problems, object);
}

int bench_json_end(bench_json *j, json_output *out)
{
    json_t *all = json_report();
    if (bench_onednn_version())
        json_object_set_new(all, "onednn", json_string(bench_onednn_version()));
    json_object_set_new(all, "devices", j->devices);
    json_object_set_new(all, "problems", j->problems);
    return json_output_write(out, all);
}
