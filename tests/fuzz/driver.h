/* A driver of OpenCL in the place of the real one, as far as src/program/binary.c calls it. */
#ifndef TESTS_FUZZ_DRIVER_H
#define TESTS_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

#include "program/opencl.h"

/* Its answers, from now on, follow from these bytes; all of them are what a driver may answer. */
void driver_answers(const uint8_t *bytes, size_t size);

/* Programs and kernels that are held. */
long driver_objects(void);

#endif
