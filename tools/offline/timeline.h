/*
 * The commands of a pass, by profiling: those that are enqueued while it is recorded are seen by
 * wrappers, for each of which the linker is given --wrap.
 */
#ifndef TOOLS_OFFLINE_TIMELINE_H
#define TOOLS_OFFLINE_TIMELINE_H

#include "program/opencl.h"

enum { TIMELINE_PASSES = 9 };

/* A pass and what waits for it; not 0 where one failed. */
typedef struct timeline_pass {
    int (*run)(void *of), (*finish)(void *of);
    void *of;
    cl_command_queue first; /* the first replica's queue */
} timeline_pass;

/* Records a pass TIMELINE_PASSES times, and prints the medians of its commands. */
int timeline_print(const timeline_pass *pass, const char *what);

#endif
