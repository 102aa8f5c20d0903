#include "syncbn/device_choice.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "syncbn/safe_text.h"

int device_choice_read(const char *text, device_choice *choice)
{
    static const char *const types[] = {"cpu", "gpu", "accelerator"};
    choice->type = NULL;
    choice->count = 0;
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
        if (strcmp(text, types[i]) == 0) {
            choice->type = types[i];
            return 0;
        }
    }
    for (const char *at = text;; ++at) {
        char *end;
        unsigned long index = strtoul(at, &end, 10);
        if (!isdigit((unsigned char)*at) || (*end && *end != ',') || index > 9999 ||
            choice->count == DEVICE_CHOICE_MAX) {
            return isalpha((unsigned char)*text)
                       ? usage_error(
                             "--devices %s: there is no such type of device; there are cpu, "
                             "gpu and accelerator",
                             text)
                       : usage_error("--devices %s: expected at most %d numbers as in 0,1, or cpu, "
                                     "gpu or accelerator",
                                     text, DEVICE_CHOICE_MAX);
        }
        choice->numbers[choice->count++] = index;
        at = end;
        if (!*at)
            return 0;
    }
}

int device_choice_resolve(device_choice *choice, const device_list *list)
{
    const int all = choice->count == 0;
    for (size_t i = 0; i < choice->count; ++i) {
        const size_t index = choice->numbers[i];
        if (index >= list->devices) {
            return usage_error("--devices names %zu, but there are only %zu, numbered from 0; see "
                               "syncbn devices",
                               index, list->devices);
        }
        if (!list->device[index].usable) {
            fprintf(stderr, "syncbn: device %zu cannot be used: %s\n", index,
                    list->device[index].reason);
            return EXIT_FAILED;
        }
    }
    for (size_t i = 0; i < list->devices && all && choice->count < DEVICE_CHOICE_MAX; ++i) {
        const device_info *d = &list->device[i];
        if (d->usable && (!choice->type || strcmp(choice->type, d->type) == 0))
            choice->numbers[choice->count++] = i;
    }
    if (choice->count == 0) {
        fprintf(stderr, "syncbn: there is no usable OpenCL device%s%s; see syncbn devices\n",
                choice->type ? " of type " : "", choice->type ? choice->type : "");
        return EXIT_FAILED;
    }
    return 0;
}
