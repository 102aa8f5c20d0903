/*
 * Points tried side by side, in processes that each open OpenCL for themselves. What they find is in
 * memory that all share.
 */
#ifndef TESTS_FAULTS_WORKERS_H
#define TESTS_FAULTS_WORKERS_H

#include "faults/driver.h"
#include "support/wraps.h"

enum { MOST_SCENARIOS = 32 };

typedef struct worker_report {
    int is_missing; /* there is no device */
    totals of[MOST_SCENARIOS];
    long calls[WRAPS];
} worker_report;

/*
 * Calls `work` for each part, in a process of its own if there are several, and waits for all: their
 * reports. A process that does not end with status 0 is a check that fails.
 */
typedef void worker(int part, int parts, worker_report *report);
const worker_report *workers_run(int parts, worker *work);

#endif
