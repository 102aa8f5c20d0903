#include "syncbn/json_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <jansson.h>

#include "syncbn/command.h"

static const char *unfinished;

void json_memory_unfinished(const char *path)
{
    unfinished = path;
}

static void *allocate_or_exit(size_t size)
{
    void *block = malloc(size);
    if (!block) {
        if (unfinished)
            unlink(unfinished);
        fputs("syncbn: the host has no memory left for a report in JSON\n", stderr);
        exit(EXIT_FAILED);
    }
    return block;
}

void json_memory_or_exit(void)
{
    json_set_alloc_funcs(allocate_or_exit, free);
}
