/* System calls that a signal's handler interrupts. */
#pragma once

#include <errno.h>

/* Makes a call until it is not interrupted. Not for close, which has closed the file all the same. */
#define SBN_RETRY(result, call) \
    do { \
        (result) = (call); \
    } while ((result) < 0 && errno == EINTR)
