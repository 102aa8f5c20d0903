/* For libFuzzer (make check-fuzz): what an input must not break ends the program. */
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

void fuzz_must(int condition);

/* A status, whose sentence is there if it is an error, and then alone. */
int judged(int status);

/* A path in a folder of this process's own (support/folder.h), which goes with it. */
const char *fuzz_path(void);

/* An input, taken byte by byte from its front; zeros when it is over. */
typedef struct fuzz_input {
    const uint8_t *at, *end;
} fuzz_input;

uint8_t fuzz_byte(fuzz_input *in);
uint32_t fuzz_word(fuzz_input *in);
