/*
 * Any text as tuned numbers ($SYNCBN_TUNING), and any bytes as the file that keeps them, perhaps
 * with the right head or checksum. Nothing is taken but numbers in their range from a file that is
 * right to its last byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "device/tuning.h"
#include "fuzz/fuzz.h"
#include "support/fixture.h"
#include "support/folder.h"

enum { RIGHT_HEAD = 1, RIGHT_CHECKSUM = 2, CHECKSUM = 17, MOST = 16384 };

static fixture device;
static int folder = -1;
static char name[SBN_TUNING_NAME], head[MOST];
static size_t head_size;

/* The folder, and the head of a file without numbers in it. */
static void open_folder(void)
{
    const sbn_tuning none = {{0}};
    fuzz_must(!fixture_open(&device));
    folder = fuzz_folder();
    fuzz_must(sbn__tuning_keep(folder, device.device, SBN_FORM_CPU, &none, name));
    char path[512];
    snprintf(path, sizeof path, "%s/%s", fuzz_path(), name);
    const size_t size = folder_read(path, head, MOST);
    fuzz_must(size > 1 + CHECKSUM);
    head_size = size - 1 - CHECKSUM;
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

/* The text as a line behind the head, with those parts right that are asked for. */
static size_t compose(char file[MOST], const char *text, size_t size, unsigned right)
{
    size_t at = 0;
    if (right & RIGHT_HEAD) {
        memcpy(file, head, head_size);
        at = head_size;
    }
    memcpy(file + at, text, size);
    at += size;
    if (right & RIGHT_CHECKSUM) {
        file[at++] = '\n';
        snprintf(file + at, CHECKSUM + 1, "%016llx\n",
                 (unsigned long long)sbn__digest(SBN_DIGEST_START, file, at));
        at += CHECKSUM;
    }
    return at;
}

/* A file that was taken is the one that would be written, but for the spelling of its numbers. */
static void check_taken(const char *file, size_t size, const sbn_tuning *tuning)
{
    char sum[CHECKSUM + 1], line[MOST];
    sbn_tuning numbers;
    fuzz_must(size > head_size + CHECKSUM && memcmp(file, head, head_size) == 0);
    const size_t checked = size - CHECKSUM, length = checked - 1 - head_size;
    snprintf(sum, sizeof sum, "%016llx\n",
             (unsigned long long)sbn__digest(SBN_DIGEST_START, file, checked));
    fuzz_must(memcmp(file + checked, sum, CHECKSUM) == 0 && file[checked - 1] == '\n');
    memcpy(line, file + head_size, length);
    line[length] = '\0';
    fuzz_must(strlen(line) == length && check_text(line, &numbers));
    fuzz_must(memcmp(&numbers, tuning, sizeof numbers) == 0);
}

static void check_file(const char *text, size_t size, unsigned right)
{
    char file[MOST];
    sbn_tuning tuning;
    const size_t whole = compose(file, text, size, right);
    fuzz_write(folder, name, file, whole);
    if (sbn__tuning_load(folder, device.device, SBN_FORM_CPU, &tuning))
        check_taken(file, whole, &tuning);
    else
        fuzz_must(is_none(&tuning));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    sbn_tuning tuning;
    if (size < 1 || size > MOST / 2)
        return 0;
    if (folder < 0)
        open_folder();
    char *text = malloc(size);
    fuzz_must(text != NULL);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = '\0';
    check_text(text, &tuning);
    check_file(text, size - 1, bytes[0]);
    free(text);
    return 0;
}
