#include "fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

void fuzz_must(int condition)
{
    if (!condition)
        abort();
}

const char *fuzz_path(void)
{
    static char path[80];
    const char *temporary = getenv("TMPDIR");
    snprintf(path, sizeof path, "%.40s/syncbn-fuzz-%ld", temporary ? temporary : "/tmp",
             (long)getpid());
    return path;
}

uint8_t fuzz_byte(fuzz_input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

uint32_t fuzz_word(fuzz_input *in)
{
    uint32_t word = 0;
    for (int i = 0; i < 4; ++i)
        word = word << 8 | fuzz_byte(in);
    return word;
}
