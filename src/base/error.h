/* The sentence behind a failure: one per thread, replaced by every public call. */
#pragma once

#include <syncbn/error.h>

#define SBN_SENTENCE_SIZE 512

/* Forgets the sentence of an earlier call, as every public function that can fail does. */
void sbn__error_clear(void);

/* Keeps the sentence and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int sbn__fail(int status, const char *format, ...);

/* sbn__fail for a host allocation. */
int sbn__fail_memory(const char *what);
