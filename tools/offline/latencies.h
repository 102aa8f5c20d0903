/* What a driver takes for the calls that passes consist of. */
#ifndef TOOLS_OFFLINE_LATENCIES_H
#define TOOLS_OFFLINE_LATENCIES_H

#include "program/opencl.h"

/* Sorts them. */
double median(double *values, size_t count);

/* Prints a line for each call; 0, or 1 after a sentence to standard error. */
int latencies_print(cl_context context, cl_device_id device);

#endif
