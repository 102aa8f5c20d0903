/* Memory that is lacking in the C library's functions, where it can be (WRAP_C_MEMORY). */
#ifndef TESTS_FAULTS_MEMORY_H
#define TESTS_FAULTS_MEMORY_H

#include <stdlib.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
#define OWN_C_MEMORY
#endif

#endif
