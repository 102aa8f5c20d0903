/* The test of a device's arithmetic, on whose rules equal bits depend (cl/common/self_test.cl). */
#ifndef SBN_PROGRAM_SELF_TEST_H
#define SBN_PROGRAM_SELF_TEST_H

#include "program/program.h"

/*
 * Runs the kernel self_test of the program `apply` and waits for it. SBN_UNSUPPORTED_DEVICE with a
 * sentence that names the device and the first rule broken, or why the test could not run.
 */
int sbn__self_test(const sbn_program *program);

#endif
