/* Does a device keep the rules of arithmetic that equal bits rest on? cl/self_test.cl asks it. */
#ifndef SBN_DEVICE_SELF_TEST_H
#define SBN_DEVICE_SELF_TEST_H

#include "device/program.h"

/*
 * Runs the kernel self_test of the program's `apply` and waits for it. SBN_UNSUPPORTED_DEVICE with a
 * sentence that names the device and the first rule broken, or what kept the test from running.
 */
int sbn__self_test(const sbn_program *program);

#endif
