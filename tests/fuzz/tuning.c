/*
 * Any text as tuned numbers: $SYNCBN_TUNING, and what a file keeps (tests/device/tuning.c; cache.c has any bytes
 * as a file). Nothing is taken but numbers in their range.
 */
#include <stdlib.h>
#include <string.h>

#include "device/tuning.h"
#include "fuzz/fuzz.h"

static int in_range(const sbn_tuning *tuning)
{
    int good = 1;
    for (int i = 0; i < SBN_TUNED; ++i)
        good = good && tuning->percent[i] <= SBN_TUNING_MOST &&
               sbn__tuned(tuning, (sbn_tuned)i, 1000) >= 1;
    return good;
}

/* What is read, printed and read again is the same; an error has a sentence. */
static void check(const char *text)
{
    char sentence[256] = "", printed[SBN_TUNING_TEXT], again[SBN_TUNING_TEXT];
    sbn_tuning tuning, same;
    if (!sbn__tuning_parse(text, &tuning, sentence, sizeof sentence)) {
        fuzz_must(memcmp(&tuning, &(sbn_tuning){{0}}, sizeof tuning) == 0);
        fuzz_must(*sentence && strlen(sentence) < sizeof sentence);
        return;
    }
    fuzz_must(in_range(&tuning));
    sbn__tuning_print(&tuning, printed);
    fuzz_must(strlen(printed) < sizeof printed);
    fuzz_must(sbn__tuning_parse(printed, &same, sentence, sizeof sentence));
    sbn__tuning_print(&same, again);
    fuzz_must(strcmp(printed, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *text = strndup((const char *)bytes, size);
    fuzz_must(text != NULL);
    check(text);
    free(text);
    return 0;
}
