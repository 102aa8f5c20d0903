/* The JSON report: one object with every problem, output and digest. */
#ifndef TOOLS_SYNCBN_REPORT_JSON_H
#define TOOLS_SYNCBN_REPORT_JSON_H

#include "check/check.h"
#include "check/devices.h"
#include "syncbn/json_output.h"

typedef struct report_json {
    json_output *to;
    json_t *problems; /* the results so far */
} report_json;

/* `again`: the command line that repeats the problem. */
void report_json_result(report_json *r, const problem *p, const check_result *result,
                        const char *again);

/* Writes the report with the devices that the problems ran on; 0, or EXIT_FAILED after a sentence. */
int report_json_end(report_json *r, const device_list *list, const size_t *chosen,
                    size_t num_chosen, size_t failed);

#endif
