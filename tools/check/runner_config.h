/* What a runner is configured by. */
#ifndef TOOLS_CHECK_RUNNER_CONFIG_H
#define TOOLS_CHECK_RUNNER_CONFIG_H

#include <syncbn/group.h>

#include "program/opencl.h"
#include "check/ranks.h"

/* The size of a sentence, and the status of a write outside a buffer's contents. */
enum { RUNNER_ERROR = 1024, RUNNER_SPOILT = -29999 };

typedef struct runner_config {
    const cl_device_id *devices;
    size_t num_devices;
    int one_context;           /* of all devices of a platform; else each has its own */
    sbn_kernel_form form;      /* instead of the problem's, unless SBN_FORM_AUTO */
    const char *build_options; /* for the library, or NULL */
    const runner_ranks *ranks; /* NULL: this process alone */
} runner_config;

#endif
