/* The test that work-groups see what others wrote: cl/gpu/self_test_slices.cl. */
#ifndef SBN_PROGRAM_SELF_TEST_SLICES_H
#define SBN_PROGRAM_SELF_TEST_SLICES_H

#include "program/program.h"

/* As sbn__self_test, in the GPU form; nothing where the compiler has no such fence. */
int sbn__self_test_slices(const sbn_program *program);

#endif
