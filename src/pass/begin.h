/*
 * How a pass begins. It waits here for earlier uses of its working memory, besides in sbn_pass_end and sbn__pass_run.
 */
#pragma once

#include "pass/prepare.h"

/* The public begin functions, for `count` layers. */
int sbn__pass_begin(sbn__choose *choose, const sbn_branch *branches, size_t count, sbn_pass **pass);

/* begin and end in a row. */
int sbn__pass_run(sbn__choose *choose, const sbn_branch *branches, size_t count,
                  sbn_result *results);
