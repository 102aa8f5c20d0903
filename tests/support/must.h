/* The device of a test, and the end of a test whose own calls fail. */
#ifndef TESTS_SUPPORT_MUST_H
#define TESTS_SUPPORT_MUST_H

#include <syncbn.h>

#include "program/opencl.h"

typedef struct fixture {
    cl_device_id device;
    cl_context context;
} fixture;

/* Ends the program unless code is CL_SUCCESS. */
void must(int code, const char *what);

#endif
