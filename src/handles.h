/*
 * Every OpenCL object and host block that the library opens is counted, so
 * that a test can see that none is lost where a leak checker cannot (drivers
 * leak on their own).
 */
#ifndef SBN_SRC_HANDLES_H
#define SBN_SRC_HANDLES_H

#include <stddef.h>

void sbn_handle_opened(void);
void sbn_handle_closed(void);

/* Objects and blocks open now, over all threads. */
long sbn_handles_open(void);

/* calloc and free, counted. */
void *sbn_allocate(size_t size);
void sbn_free(void *block);

#endif
