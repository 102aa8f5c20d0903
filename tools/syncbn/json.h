/*
 * A report's beginning, and what jansson leaves open: numbers that JSON lacks, strings that are not
 * UTF-8.
 */
#ifndef TOOLS_SYNCBN_JSON_H
#define TOOLS_SYNCBN_JSON_H

#include <math.h>

#include <jansson.h>

#include <syncbn.h>

/* What every command writes: an object that begins with the library's version. */
static inline json_t *json_report(void)
{
    json_t *begun = json_object();
    json_object_set_new(begun, "version", json_string(sbn_version()));
    return begun;
}

/* NaN and infinities become strings. */
static inline json_t *json_number_or_name(double value)
{
    return isfinite(value) ? json_real(value)
                           : json_string(isnan(value) ? "nan"
                                         : value > 0  ? "inf"
                                                      : "-inf");
}

/* A driver's string; "" if it is not UTF-8. */
static inline json_t *json_text(const char *text)
{
    json_t *string = json_string(text);
    return string ? string : json_string("");
}

#endif
