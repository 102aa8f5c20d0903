/* The sentence behind a failure: one per thread, replaced by every public call. */
#ifndef SBN_SRC_ERROR_H
#define SBN_SRC_ERROR_H

#include <syncbn/error.h>

#define SBN_SENTENCE_SIZE 512

/* Forgets the sentence: every public function that can fail starts with it. */
void sbn_error_clear(void);

/* Keeps the sentence and returns the status. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
int sbn_fail(int status, const char *format, ...);

/* sbn_fail for a host allocation. */
int sbn_fail_memory(const char *what);

#endif
