/* The second half of a pass: waiting until step 2 is done, enqueuing step 3, and the results. */
#pragma once

#include "pass/pass.h"

/* Waits until step 2 of the pass has succeeded or failed. */
void sbn__pass_wait(sbn_pass *pass);

/* Checks that the caller's `results` have room for `count` layers. NULL is valid. */
int sbn__pass_check_results(const sbn_result *results, size_t count);
