/*
 * A whole program on the first PoCL device: the test defines `checks`, and main of main.c, which the
 * linker takes where there is no other, calls it by fixture_main.
 */
#pragma once

#include "support/fixture.h"

extern fixture device;
extern cl_command_queue queue; /* in order */
extern char **main_arguments;  /* of the program; NULL ends them */

void checks(void);
