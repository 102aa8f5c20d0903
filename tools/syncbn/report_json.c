#include "syncbn/report_json.h"

#include <inttypes.h>

#include "syncbn/json.h"

static json_t *output_json(const check_result *result, output_id id)
{
    const verdict *v = &result->comparison.of[id];
    const output *o = &result->outputs.of[id];
    char text[96];
    json_t *object = json_object();
    snprintf(text, sizeof text, "%016" PRIx64, o->digest);
    json_object_set_new(object, "digest", json_string(text));
    json_object_set_new(object, "values", json_integer((json_int_t)o->count));
    json_object_set_new(object, "failures", json_integer((json_int_t)v->failures));
    json_object_set_new(object, "unbounded", json_integer((json_int_t)v->unbounded));
    json_object_set_new(object, "ratio", json_number_or_name(v->ratio));
    if (v->judged && o->count) {
        compare_where(&result->placement, id, v->index, text, sizeof text);
        json_object_set_new(object, "where", json_string(text));
        json_object_set_new(object, "error", json_number_or_name(v->error));
        json_object_set_new(object, "tolerance", json_number_or_name(v->tolerance));
        json_object_set_new(object, "got", json_number_or_name(v->got));
        json_object_set_new(object, "expected", json_number_or_name(v->expected));
    }
    return object;
}

void report_json_result(report_json *r, const problem *p, const check_result *result,
                        const char *again)
{
    char text[2 * PROBLEM_LINE];
    json_t *object = json_object(), *of = json_object();
    problem_print(p, text, sizeof text);
    json_object_set_new(object, "problem", json_string(text));
    json_object_set_new(object, "ok", json_boolean(result->ok));
    json_object_set_new(object, "refused", json_boolean(result->refused));
    json_object_set_new(object, "status", json_string(sbn_status_name(result->status)));
    if (*result->error)
        json_object_set_new(object, "error", json_text(result->error));
    json_object_set_new(object, "bits_compared", json_boolean(result->bits_known));
    json_object_set_new(object, "seconds", json_real(result->seconds));
    json_object_set_new(object, "wide",
                        result->outputs.wide < 0 ? json_null()
                                                 : json_boolean(result->outputs.wide));
    json_object_set_new(object, "again", json_string(again));
    for (int id = 0; id < OUTPUTS; ++id)
        if (result->outputs.of[id].data)
            json_object_set_new(of, output_names[id], output_json(result, (output_id)id));
    json_object_set_new(object, "outputs", of);
    if (!r->problems)
        r->problems = json_array();
    json_array_append_new(r->problems, object);
}

int report_json_end(report_json *r, const device_list *list, const size_t *chosen,
                    size_t num_chosen, size_t failed)
{
    json_t *all = json_report(), *devices = json_array();
    for (size_t i = 0; i < num_chosen; ++i) {
        json_t *device = json_object();
        json_object_set_new(device, "index", json_integer((json_int_t)chosen[i]));
        json_object_set_new(device, "name", json_text(list->device[chosen[i]].name));
        json_array_append_new(devices, device);
    }
    json_object_set_new(all, "devices", devices);
    json_object_set_new(all, "failed", json_integer((json_int_t)failed));
    json_object_set_new(all, "problems", r->problems ? r->problems : json_array());
    return json_output_write(r->to, all);
}
