/*
 * A whole program on the first PoCL device: the test defines `checks` or `checks_of_deadlines`, and main of main.c,
 * which the linker takes where there is no other, calls it by fixture_main or, without a queue, fixture_main_waits.
 */
#pragma once

#include "support/fixture.h"

extern fixture device;
extern cl_command_queue queue; /* in order */
extern char **main_arguments;  /* of the program; NULL ends them */

void checks(void);
void checks_of_deadlines(void);
