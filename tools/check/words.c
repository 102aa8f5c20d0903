#include "check/words.h"

#include <string.h>

/* 1 if at most so many letters are changed, inserted, removed or swapped with their neighbours. */
static int is_near(const char *a, size_t m, const char *b, size_t n, int most)
{
    for (; m && n && *a == *b; ++a, ++b, --m, --n)
        ;
    if (most == 0 || m == 0 || n == 0)
        return m + n <= (size_t)most;
    const int swapped = m > 1 && n > 1 && a[0] == b[1] && a[1] == b[0];
    return is_near(a + 1, m - 1, b + 1, n - 1, most - 1) || is_near(a + 1, m - 1, b, n, most - 1) ||
           is_near(a, m, b + 1, n - 1, most - 1) ||
           (swapped && is_near(a + 2, m - 2, b + 2, n - 2, most - 1));
}

const char *nearest_word(const char *word, size_t length, const char *const *known, size_t count,
                         const char *ends)
{
    /* Of a single letter nothing is left when it is changed. */
    const int most = length < 2 ? 0 : length < 6 ? 1 : 2;
    for (int apart = 0; length && apart <= most; ++apart)
        for (size_t i = 0; i < count; ++i)
            if (is_near(word, length, known[i], strcspn(known[i], ends), apart))
                return known[i];
    return NULL;
}
