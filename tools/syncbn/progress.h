/* The progress of a list of problems, on standard error. */
#ifndef TOOLS_SYNCBN_PROGRESS_H
#define TOOLS_SYNCBN_PROGRESS_H

#include <stddef.h>

/*
 * "[2/4] mb32ic64": on a terminal one line that the next replaces; elsewhere a line each, with
 * `always`, or nothing. `failed` of those done are counted where there are any.
 */
void progress_show(size_t number, size_t count, size_t failed, const char *what, int always);

/* Before anything else is printed. */
void progress_clear(void);

#endif
