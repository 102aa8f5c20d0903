/* What to install, and to set, where OpenCL has no device that can be used. */
#ifndef TOOLS_SYNCBN_DRIVER_ADVICE_H
#define TOOLS_SYNCBN_DRIVER_ADVICE_H

#include "check/devices.h"

/* Why a platform may show no devices: one line without its end, or "" where nothing is known. */
const char *platform_advice(const platform_info *platform);

/* Prints a line for each driver that the loader is told of and that does not load; how many. */
int driver_faults(void);

/* Printed below a list without usable devices. */
extern const char driver_advice[];

#endif
