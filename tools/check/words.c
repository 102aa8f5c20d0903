#include "check/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void text_add(char *text, size_t size, const char *format, ...)
{
    va_list arguments;
    const size_t used = strlen(text);
    va_start(arguments, format);
    vsnprintf(text + used, size - used, format, arguments);
    va_end(arguments);
}

enum { MOST = 32 }; /* letters of a word that is looked at */

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Letters changed, inserted, removed or swapped with their neighbours between a and b. */
static int distance(const char *a, size_t m, const char *b, size_t n)
{
    int d[MOST + 1][MOST + 1];
    for (size_t i = 0; i <= m; ++i) {
        for (size_t k = 0; k <= n; ++k) {
            if (i == 0 || k == 0) {
                d[i][k] = (int)(i + k);
                continue;
            }
            d[i][k] = least(least(d[i - 1][k], d[i][k - 1]) + 1,
                            d[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = least(d[i][k], d[i - 2][k - 2] + 1);
        }
    }
    return d[m][n];
}

const char *nearest_word(const char *word, size_t length, const char *const *known, size_t count,
                         const char *ends)
{
    /* Of a single letter nothing is left when it is changed. */
    int most = length < 2 ? 0 : length < 6 ? 1 : 2;
    const char *found = NULL;
    if (length == 0 || length > MOST)
        return NULL;
    for (size_t i = 0; i < count; ++i) {
        const size_t size = strcspn(known[i], ends);
        const int apart = size > MOST ? MOST : distance(word, length, known[i], size);
        if (apart <= most) {
            found = known[i];
            most = apart - 1;
        }
    }
    return found;
}
