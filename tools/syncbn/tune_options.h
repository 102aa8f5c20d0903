/* What `syncbn tune` was asked for. */
#ifndef TOOLS_SYNCBN_TUNE_OPTIONS_H
#define TOOLS_SYNCBN_TUNE_OPTIONS_H

#include "syncbn/device_choice.h"
#include "syncbn/problem_list.h"

typedef struct tune_options {
    device_choice devices;
    sbn_kernel_form form;
    problem_list list;
    double seconds;
    int forget;
    const char *json;
} tune_options;

/* As options_read. */
int tune_options_read(int argc, char **argv, tune_options *o);
void tune_options_free(tune_options *o);

#endif
