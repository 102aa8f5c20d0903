/* The library on one replica, as a contender. */
#ifndef TOOLS_BENCH_LIBRARY_H
#define TOOLS_BENCH_LIBRARY_H

#include "bench/contender.h"

/* One pass of a job; and all of them on overwritten results, compared with the float64 reference. */
int bench_job_run(job *j, bench_pass pass);
int bench_job_check(scene *s, job *j, const char *name);

/* "syncbn". Its check fills the scene's `right`, after comparing with the float64 reference. */
int bench_library_open(scene *s, contender *made);

#endif
