/* What commands that use devices have in common: where JSON goes, and the list of devices. */
#ifndef TOOLS_SYNCBN_COMMAND_RUN_H
#define TOOLS_SYNCBN_COMMAND_RUN_H

#include "check/devices.h"
#include "syncbn/safe_text.h"
#include "syncbn/json_output.h"

/* Opens `json_path` (may be NULL), lists the devices and runs. Returns the exit status. */
int command_run(const char *json_path,
                int (*run)(const device_list *list, const void *options, json_output *json),
                const void *options);

#endif
