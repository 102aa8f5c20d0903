/* The device of a test, and the end of a test whose own calls fail. */
#pragma once

#include <syncbn.h>

#include "program/opencl.h"

typedef struct fixture {
    cl_device_id device;
    cl_context context;
} fixture;

/* Ends the program unless the call returns CL_SUCCESS, and what sbn_last_error says is cleared. */
#define must(call, what) (must_fail_before(#call), must_succeed(call, #call, what))

void must_fail_before(const char *call);
void must_succeed(int code, const char *call, const char *what);
