/* Reading the report. */
#include "bench/report/results.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const json_t *results_problems(const json_t *report)
{
    return json_object_get(report, "problems");
}

static int is(const json_t *object, const char *key, const char *value)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text && strcmp(text, value) == 0;
}

int results_first_device_is(const json_t *report, const char *type)
{
    return is(json_array_get(json_object_get(report, "devices"), 0), "type", type);
}

const char *results_line(const json_t *problem)
{
    const char *line = json_string_value(json_object_get(problem, "problem"));
    return line ? line : "";
}

double results_bytes(const json_t *problem)
{
    return json_number_value(json_object_get(problem, "bytes"));
}

int results_is_f32(const json_t *problem)
{
    return !is(problem, "type", "f16") && !is(problem, "type", "bf16");
}

int results_is_dense(const json_t *problem)
{
    return !json_is_true(json_object_get(problem, "views"));
}

static int has_residual(const json_t *problem)
{
    return json_is_true(json_object_get(problem, "residual"));
}

int results_is_unfused(const json_t *problem)
{
    return !has_residual(problem) && !is(problem, "activation", "relu") &&
           !is(problem, "activation", "leaky");
}

int results_has_relu(const json_t *problem)
{
    return !has_residual(problem) && is(problem, "activation", "relu");
}

int results_has_add_relu(const json_t *problem)
{
    return has_residual(problem) && is(problem, "activation", "relu");
}

double results_bytes_f32(const json_t *problem)
{
    return results_bytes(problem) * (results_is_f32(problem) ? 1 : 2);
}

int results_is_last(const json_t *problem)
{
    return is(problem, "layout", "last");
}

size_t results_extent(const json_t *problem, const char *key)
{
    const char *line = results_line(problem), *at = strstr(line, key), *end = strchr(line, ',');
    return at && (!end || at < end) ? strtoul(at + strlen(key), NULL, 10) : 0;
}

/* The median under `key` in that element of a list which has these values. */
static double median(const json_t *list, const char *const keys[3], const char *const values[3],
                     const char *key)
{
    for (size_t index = 0; index < json_array_size(list); ++index) {
        const json_t *element = json_array_get(list, index);
        int fits = 1;
        for (int i = 0; i < 3 && keys[i]; ++i)
            fits &= is(element, keys[i], values[i]);
        const json_t *number = json_object_get(json_object_get(element, key), "median");
        if (fits && json_is_number(number))
            return json_number_value(number);
    }
    return NAN;
}

static double measured(const json_t *problem, const char *contender, const char *pass,
                       const char *key)
{
    return median(json_object_get(problem, "series"),
                  (const char *const[]){"contender", "pass", NULL},
                  (const char *const[]){contender, pass, NULL}, key);
}

double results_share_of_copy(const json_t *problem, const char *contender, const char *pass)
{
    return measured(problem, contender, pass, "share_of_copy");
}

double results_returned(const json_t *problem, const char *contender, const char *pass)
{
    return measured(problem, contender, pass, "returned");
}

static double compared(const json_t *problem, const char *of, const char *with, const char *pass,
                       const char *key)
{
    return median(json_object_get(problem, "comparisons"),
                  (const char *const[]){"of", "with", "pass"},
                  (const char *const[]){of, with, pass}, key);
}

double results_quotient(const json_t *problem, const char *of, const char *with, const char *pass)
{
    return compared(problem, of, with, pass, "quotient");
}

double results_difference(const json_t *problem, const char *of, const char *with, const char *pass)
{
    return compared(problem, of, with, pass, "difference");
}

const char *results_onednn(const json_t *problem, const char *pass)
{
    return json_string_value(json_object_get(json_object_get(problem, "fastest_onednn"), pass));
}

double results_workspace(const json_t *problem)
{
    return json_number_value(json_object_get(problem, "workspace_bytes"));
}
