/*
 * Any text as tuned numbers: $SYNCBN_TUNING, and a file that keeps them (cache.c has any bytes as such a
 * file). Nothing is taken but numbers in their range.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/tuning.h"
#include "fuzz/fuzz.h"
#include "support/fixture.h"
#include "support/folder.h"

enum { KEY_SIZE = 16, KEY = 40, MOST = 16384 };

static fixture device;
static int folder = -1;
static unsigned char head[MOST];
static sbn_bytes key = {head + KEY, 0};

/* The folder, and the key of its file. */
static void open_folder(void)
{
    const sbn_tuning none = {{0}};
    char name[SBN_CACHE_NAME], path[512];
    uint64_t key_size;
    fuzz_must(!fixture_open(&device));
    folder = fuzz_folder();
    fuzz_must(sbn__tuning_keep(folder, device.device, SBN_FORM_CPU, &none, name));
    snprintf(path, sizeof path, "%s/%s", fuzz_path(), name);
    fuzz_must(folder_read(path, head, MOST) > KEY);
    memcpy(&key_size, head + KEY_SIZE, sizeof key_size);
    key.size = (size_t)key_size;
}

static int is_none(const sbn_tuning *tuning)
{
    return memcmp(tuning, &(sbn_tuning){{0}}, sizeof *tuning) == 0;
}

static int in_range(const sbn_tuning *tuning)
{
    int good = 1;
    for (int i = 0; i < SBN_TUNED; ++i)
        good = good && tuning->percent[i] <= SBN_TUNING_MOST &&
               sbn__tuned(tuning, (sbn_tuned)i, 1000) >= 1;
    return good;
}

/* What is read, printed and read again is the same; an error has a sentence. */
static int check_text(const char *text, sbn_tuning *tuning)
{
    char sentence[256] = "", printed[SBN_TUNING_TEXT], again[SBN_TUNING_TEXT];
    sbn_tuning same;
    if (!sbn__tuning_parse(text, tuning, sentence, sizeof sentence)) {
        fuzz_must(is_none(tuning) && *sentence && strlen(sentence) < sizeof sentence);
        return 0;
    }
    fuzz_must(in_range(tuning));
    sbn__tuning_print(tuning, printed);
    fuzz_must(strlen(printed) < sizeof printed);
    fuzz_must(sbn__tuning_parse(printed, &same, sentence, sizeof sentence));
    sbn__tuning_print(&same, again);
    fuzz_must(strcmp(printed, again) == 0);
    return 1;
}

/* Numbers are taken from a string alone, as they are from $SYNCBN_TUNING. */
static void check_file(unsigned char *text, size_t size)
{
    sbn_tuning tuning, numbers;
    const sbn_bytes value = {text, size};
    fuzz_must(sbn__cache_store(folder, "tuning", &key, &value));
    if (!sbn__tuning_load(folder, device.device, SBN_FORM_CPU, &tuning)) {
        fuzz_must(is_none(&tuning));
        return;
    }
    fuzz_must(size > 0 && strlen((char *)text) == size - 1 && check_text((char *)text, &numbers));
    fuzz_must(memcmp(&numbers, &tuning, sizeof numbers) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sbn_tuning tuning;
    if (size < 1 || size > MOST / 2)
        return 0;
    if (folder < 0)
        open_folder();
    unsigned char *text = malloc(size);
    fuzz_must(text != NULL);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    check_text((char *)text, &tuning);
    check_file(text, size - (bytes[0] & 1));
    free(text);
    return 0;
}
