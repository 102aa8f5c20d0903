/* Headers of safetensors files, each of which is refused. */
#pragma once

#include <stddef.h>

typedef struct liar {
    const char *what, *header;
    size_t data;       /* bytes behind it */
    const char *words; /* of the sentence */
} liar;

extern const liar liars[];
extern const size_t liar_count;
