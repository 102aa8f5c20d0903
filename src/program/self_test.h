/* The tests of a device, on whose rules equal bits depend: cl/common/self_test.cl and others. */
#pragma once

#include "program/program.h"

/*
 * Runs the self-tests of the program `apply` and waits for them. SBN_UNSUPPORTED_DEVICE with a
 * sentence that names the device and the first rule broken, or why a test could not run.
 */
int sbn__self_test(const sbn_program *program);
