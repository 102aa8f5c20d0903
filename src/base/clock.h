/* The clock that timeouts are measured with. */
#pragma once

#include <time.h>

/* Seconds since some moment in the past; never set back. */
static inline double sbn__seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
