/*
 * Built programs, shared by all groups of the process: one for each context, device, form, type, fusion, kind of
 * tensors and options, released by its last user. While one thread builds a program, others that need it wait.
 */
#pragma once

#include "program/program.h"

/*
 * Returns the programs that `wanted` describes, but for their options; they are built unless a group
 * of the process has them already. `config`: of the group. Needs an sbn__program_release, but not after an error.
 */
int sbn__program_acquire(const sbn_program *wanted, const sbn_group_config *config,
                         sbn_program **program);
void sbn__program_release(sbn_program *program);
