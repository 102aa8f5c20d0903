/* The passes of a group: those under way, in the order they began, and ended ones, kept for their memory. */
#pragma once

#include "pass/pass.h"

/* An idle pass of the group, or a new one, with `count` layer passes. */
int sbn__pass_acquire(sbn_group *group, size_t count, sbn_pass **pass);

/* The oldest pass under way that is not settled: there is one. */
sbn_pass *sbn__pass_unsettled(const sbn_group *group);

/* Removes the pass from those under way, if it is one, and keeps its memory. */
void sbn__pass_release(sbn_pass *pass);
