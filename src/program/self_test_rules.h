/* The test of the rules of arithmetic on which equal bits depend (cl/common/self_test.cl). */
#pragma once

#include "program/program.h"

/* Does the same as sbn__self_test for arithmetic. */
int sbn__self_test_arithmetic(const sbn_program *program);
