/* Building the programs of a device, from the cache or from their texts. */
#pragma once

#include "program/program.h"

/* AUTO becomes the form that suits the device. Refuses one whose work-groups are too small for it. */
int sbn__program_form(cl_device_id device, sbn_kernel_form wanted, sbn_kernel_form *form);

/*
 * 1 unless the device is a CPU: CPU drivers compile again at each kernel's first launch, have a
 * cache of their own, and take seconds to return a binary (PoCL).
 */
int sbn__program_is_worth_caching(cl_device_id device);

/* Builds the programs that the struct describes, and releases them. `cache`: of sbn__cache_open. */
int sbn__program_build(sbn_program *program, int cache, const sbn_group_config *config);
void sbn__program_unload(sbn_program *program);
