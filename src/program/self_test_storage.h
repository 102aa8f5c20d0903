/* The test of a device's loads and stores of halves or bfloat16s (cl/common/self_test_storage.cl). */
#pragma once

#include "program/program.h"

/* Does the same as sbn__self_test for a type's loads and stores; floats need no test. */
int sbn__self_test_storage(const sbn_program *program);
