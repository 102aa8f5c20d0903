/* The test of a device's loads and stores of halves or bfloat16s (cl/common/self_test_storage.cl). */
#ifndef SBN_DEVICE_SELF_TEST_STORAGE_H
#define SBN_DEVICE_SELF_TEST_STORAGE_H

#include "device/program.h"

/* As sbn__self_test; nothing is to be tested where elements are floats. */
int sbn__self_test_storage(const sbn_program *program);

#endif
