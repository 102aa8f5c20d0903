/*
 * Every OpenCL object and host block that the library opens is counted, so that a test can find a
 * leak where leak checkers cannot: drivers leak on their own.
 */
#pragma once

#include <stddef.h>

void sbn__handle_opened(void);
void sbn__handle_closed(void);

/* Releases an OpenCL object that is counted, if there is one. */
#define SBN_RELEASE(release, object) \
    do { \
        if (object) { \
            release(object); \
            sbn__handle_closed(); \
        } \
    } while (0)

/* Objects and blocks open now, over all threads. */
long sbn__handles_open(void);

/* calloc and free, counted. */
void *sbn__allocate(size_t size);
void sbn__free(void *block);
