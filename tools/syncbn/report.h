/* What `syncbn check` prints: text, TAP or digests, progress on a terminal's stderr; and its JSON. */
#pragma once

#include "check/check.h"
#include "syncbn/options.h"

typedef struct report {
    const command_options *options;
    const device_list *devices;
    size_t done, failed;
    size_t recorded; /* that had the recorded bits */
    double start;
    json_output *out;
    json_t *problems; /* the results so far */
} report;

void report_begin(report *r);

/* Before a problem: on a terminal, when the list has taken a while already. */
void report_progress(report *r, const problem *p);

void report_result(report *r, const problem *p, const check_result *result);

/* Returns the exit status. */
int report_end(report *r);
