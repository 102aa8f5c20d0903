/* Names and shapes of a safetensors file, as sentences show them. */
#include <string.h>

#include "model/safetensors.h"
#include "base/text.h"

static const char cut[] = "...";

sbn_shown sbn__show(const char *name)
{
    sbn_shown shown = {""};
    char character[5];
    size_t used = 0;
    for (const char *from = name; *from;) {
        from += sbn__printable(from, character);
        const size_t length = strlen(character);
        /* A shortened name ends with a complete character and has room for the dots. */
        if (used + length > sizeof shown.text - (*from ? sizeof cut : 1)) {
            strcpy(shown.text + used, cut);
            break;
        }
        strcpy(shown.text + used, character);
        used += length;
    }
    return shown;
}

sbn_shown sbn__show_shape(const char *shape)
{
    sbn_shown shown = {""};
    size_t used = 0;
    for (; *shape && used < sizeof shown.text - sizeof cut - 2; ++shape) {
        shown.text[used++] = *shape;
        if (*shape == ',')
            shown.text[used++] = ' ';
    }
    if (*shape)
        strcpy(shown.text + used, cut);
    return shown;
}

size_t sbn__shape_dims(const char *shape)
{
    size_t dims = strcmp(shape, "[]") != 0;
    for (; *shape; ++shape)
        dims += *shape == ',';
    return dims;
}
