/* Compiled programs as bytes: the key that identifies them, saving and loading. */
#pragma once

#include <syncbn/group.h>

#include "program/cache.h"
#include "program/program_text.h"

/* Fills an empty key with all that the binary depends on; 0 if the driver does not tell it. */
int sbn__binary_key(sbn_bytes *key, cl_device_id device, const sbn_sources *sources,
                    const char *options);

/* A built program from its binary, or NULL. */
cl_program sbn__binary_load(cl_context context, cl_device_id device, const char *options,
                            const sbn_bytes *binary);

/* The binary of a built program, into empty bytes; 0 if the driver gives none. */
int sbn__binary_of(cl_program program, cl_device_id device, sbn_bytes *binary);
