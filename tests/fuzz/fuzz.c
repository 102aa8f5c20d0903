#include "fuzz/fuzz.h"

#include <stdlib.h>

#include <syncbn/error.h>

#include "support/folder.h"

void fuzz_must(int condition)
{
    if (!condition)
        abort();
}

int judged(int status)
{
    fuzz_must(status <= 0 && !status == !*sbn_last_error());
    fuzz_must(*sbn_strerror(status) && *sbn_status_name(status));
    return status;
}

const char *fuzz_path(void)
{
    if (!*folder_root) {
        folder_begin();
        atexit(folder_end);
    }
    return folder_path("file");
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
