/* Building the programs of a device, from the cache or from their texts. */
#pragma once

#include "program/program.h"

/* AUTO becomes the form that suits the device. Refuses one whose work-groups are too small for it. */
int sbn__program_form(cl_device_id device, sbn_kernel_form wanted, sbn_kernel_form *form);

/* Builds the programs that the struct describes, or takes them from the cache; releases them. */
int sbn__program_build(sbn_program *program, const sbn_group_config *config);
void sbn__program_unload(sbn_program *program);
