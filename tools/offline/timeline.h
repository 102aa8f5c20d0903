/*
 * The commands of a pass, by profiling: those that are enqueued while it is recorded are seen by
 * wrappers, for each of which the linker is given --wrap.
 */
#pragma once

#include "program/opencl.h"

enum { TIMELINE_PASSES = 9 };

/* Around each of up to so many passes, which have ended on the device; a pass that `failed` is passed on. */
void timeline_begin(void);
int timeline_end(int failed);

/* The medians of these passes' commands, and forgets them; `first` is the first replica's queue. */
void timeline_print(const char *what, cl_command_queue first);

/* While it is on, prints what the driver says of each kernel that is enqueued, and its program's log. */
void timeline_describe(int on);
