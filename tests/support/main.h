/*
 * A whole program on the first PoCL device: the test defines `checks` or `checks_of_deadlines`, and main of main.c,
 * which the linker takes where there is no other, opens the device and calls it.
 */
#pragma once

#include "support/fixture.h"

extern fixture device;
extern cl_command_queue queue; /* in order */
extern char **main_arguments;  /* of the program; NULL ends them */

/* With the queue; one check follows, that they leave no handle open. */
void checks(void);

/* Without it (support/stalls.h); their errors may leave handles. */
void checks_of_deadlines(void);
