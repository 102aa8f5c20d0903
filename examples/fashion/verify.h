/* Shows that batch norm gives the same bits however a batch is split. */
#pragma once

#include "model.h"

/*
 * Takes what went into the batch norms, forward and backward, in the step that
 * `model` made last, and runs it again split 1, 2, 3 and 8 ways. Prints the
 * digests. Returns 0 if they agree.
 */
int verify(struct model *model);
