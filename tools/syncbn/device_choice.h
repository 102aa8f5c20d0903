/* The devices that a command line chooses, by the numbers of `syncbn devices`. */
#ifndef TOOLS_SYNCBN_DEVICE_CHOICE_H
#define TOOLS_SYNCBN_DEVICE_CHOICE_H

#include "check/devices.h"

enum { DEVICE_CHOICE_MAX = 64 };

typedef struct device_choice {
    const char *type; /* of devices.h: every usable one of it, not by numbers; or NULL */
    size_t count;     /* 0: every usable one */
    size_t numbers[DEVICE_CHOICE_MAX];
} device_choice;

/* Reads "0,1,1", or a type as "gpu". Returns 0, or EXIT_USAGE after a sentence. */
int device_choice_read(const char *text, device_choice *choice);

/*
 * Puts the numbers of the devices that were chosen, or of all that can be used, into the choice. Returns 0,
 * or an exit status after a sentence: one does not exist, cannot be used, or there is none.
 */
int device_choice_resolve(device_choice *choice, const device_list *list);

#endif
