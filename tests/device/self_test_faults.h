/* Faults of a device's arithmetic, as edits of cl/common/self_test.cl. */
#pragma once

#include <stddef.h>

typedef struct self_test_fault {
    const char *text, *instead, *rule; /* words of the sentence */
    int cpu_only;
} self_test_fault;

/* In the order of the rules; each replaces one place. */
extern const self_test_fault self_test_faults[];
extern const size_t self_test_fault_count;
