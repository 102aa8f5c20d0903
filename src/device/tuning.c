#include "device/tuning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/digest.h"
#include "program/cache_folder.h"
#include "program/identity.h"

static const char *const names[SBN_TUNED] = {"groups", "reduce", "slices", "apply", "cache"};

/* A file: a head that says whose it is, a line of numbers, and a checksum of both. */
typedef struct text {
    char at[4608];
    size_t size;
} text;
enum { CHECKSUM = 17 }; /* 16 digits and the line's end */
_Static_assert(sizeof(sbn_identity) + 256 + SBN_TUNING_TEXT + CHECKSUM < sizeof((text){0}.at),
               "a file fits");

size_t sbn__tuned(const sbn_tuning *tuning, sbn_tuned which, size_t planned)
{
    const uint32_t percent = tuning->percent[which];
    if (!percent)
        return planned;
    const size_t tuned = planned / 100 * percent + planned % 100 * percent / 100;
    return tuned > 0 ? tuned : 1;
}

static int refuse(const char *got, size_t length, char *sentence, size_t size)
{
    int at = snprintf(sentence, size, "expected NAME=PERCENT,... of");
    for (int i = 0; i < SBN_TUNED; ++i)
        at += snprintf(sentence + at, size - (size_t)at, " %s%s", names[i],
                       i + 1 < SBN_TUNED ? "," : "");
    snprintf(sentence + at, size - (size_t)at, ", each once and from %d to %d, got \"%.*s\"",
             SBN_TUNING_LEAST, SBN_TUNING_MOST, (int)(length < 40 ? length : 40), got);
    return 0;
}

/* "groups=200": 1 if it is so and new. */
static int parse_one(const char *word, size_t length, sbn_tuning *tuning)
{
    for (int i = 0; i < SBN_TUNED; ++i) {
        const size_t before = strlen(names[i]) + 1;
        if (length <= before || strncmp(word, names[i], before - 1) != 0 || word[before - 1] != '=')
            continue;
        uint32_t percent = 0;
        for (size_t at = before; at < length; ++at) {
            if (word[at] < '0' || word[at] > '9' || percent > SBN_TUNING_MOST)
                return 0;
            percent = 10 * percent + (uint32_t)(word[at] - '0');
        }
        const int good = percent >= SBN_TUNING_LEAST && percent <= SBN_TUNING_MOST &&
                         tuning->percent[i] == 0;
        tuning->percent[i] = percent;
        return good;
    }
    return 0;
}

int sbn__tuning_parse(const char *given, sbn_tuning *tuning, char *sentence, size_t size)
{
    *tuning = (sbn_tuning){{0}};
    for (const char *word = given; *given;) {
        const size_t length = strcspn(word, ",");
        if (!parse_one(word, length, tuning)) {
            *tuning = (sbn_tuning){{0}};
            return refuse(word, length, sentence, size);
        }
        if (!word[length])
            break;
        word += length + 1;
    }
    return 1;
}

void sbn__tuning_print(const sbn_tuning *tuning, char out[SBN_TUNING_TEXT])
{
    int at = 0;
    out[0] = '\0';
    for (int i = 0; i < SBN_TUNED; ++i)
        if (tuning->percent[i] && tuning->percent[i] != 100)
            at += snprintf(out + at, (size_t)(SBN_TUNING_TEXT - at), "%s%s=%" PRIu32, at ? "," : "",
                           names[i], tuning->percent[i]);
}

static int write_head(text *head, cl_device_id device, sbn_kernel_form form)
{
    sbn_identity identity;
    cl_uint units = 0;
    if (!sbn__identity_of(device, &identity) ||
        clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) !=
            CL_SUCCESS)
        return 0;
    int at = snprintf(head->at, sizeof head->at, "syncbn tuning 1\nform %d, %u compute units\n",
                      (int)form, (unsigned)units);
    for (int i = 0; i < SBN_IDENTITY_NAMES; ++i)
        at += snprintf(head->at + at, sizeof head->at - (size_t)at, "%s\n", identity.names[i]);
    head->size = (size_t)at;
    return 1;
}

static void write_name(const text *head, char name[SBN_TUNING_NAME])
{
    snprintf(name, SBN_TUNING_NAME, "%016" PRIx64 ".tuning",
             sbn__digest(SBN_DIGEST_START, head->at, head->size));
}

static void write_checksum(const char *of, size_t size, char out[CHECKSUM + 1])
{
    snprintf(out, CHECKSUM + 1, "%016" PRIx64 "\n", sbn__digest(SBN_DIGEST_START, of, size));
}

/* Reads all of the file; 0 unless it fits and is read to its end. */
static int read_file(int folder, const char *name, text *found)
{
    off_t size;
    const int file = sbn__cache_file_open(folder, name, &size);
    if (file < 0)
        return 0;
    const int fits = size > 0 && size < (off_t)sizeof found->at;
    found->size = fits ? (size_t)size : 0;
    const int good = fits && sbn__cache_file_read(file, found->at, found->size);
    close(file);
    return good;
}

static int read_numbers(const text *head, text *found, sbn_tuning *tuning)
{
    char right[CHECKSUM + 1], sentence[256];
    if (found->size <= head->size + CHECKSUM || memcmp(found->at, head->at, head->size) != 0)
        return 0;
    const size_t checked = found->size - CHECKSUM;
    write_checksum(found->at, checked, right);
    if (memcmp(found->at + checked, right, CHECKSUM) != 0 || found->at[checked - 1] != '\n')
        return 0;
    found->at[checked - 1] = '\0';
    const char *numbers = found->at + head->size;
    return strlen(numbers) == checked - 1 - head->size &&
           sbn__tuning_parse(numbers, tuning, sentence, sizeof sentence);
}

int sbn__tuning_load(int folder, cl_device_id device, sbn_kernel_form form, sbn_tuning *tuning)
{
    text head, found;
    char name[SBN_TUNING_NAME];
    *tuning = (sbn_tuning){{0}};
    if (folder < 0 || !write_head(&head, device, form))
        return 0;
    write_name(&head, name);
    return read_file(folder, name, &found) && read_numbers(&head, &found, tuning);
}

int sbn__tuning_keep(int folder, cl_device_id device, sbn_kernel_form form,
                     const sbn_tuning *tuning, char name[SBN_TUNING_NAME])
{
    text all;
    char numbers[SBN_TUNING_TEXT], checksum[CHECKSUM + 1];
    if (!write_head(&all, device, form))
        return 0;
    write_name(&all, name);
    sbn__tuning_print(tuning, numbers);
    all.size += (size_t)snprintf(all.at + all.size, sizeof all.at - all.size, "%s\n", numbers);
    write_checksum(all.at, all.size, checksum);
    const sbn_cache_part parts[] = {{all.at, all.size}, {checksum, CHECKSUM}};
    return sbn__cache_file_write(folder, name, parts, sizeof parts / sizeof *parts);
}

int sbn__tuning_forget(int folder, cl_device_id device, sbn_kernel_form form)
{
    text head;
    char name[SBN_TUNING_NAME];
    if (!write_head(&head, device, form))
        return 0;
    write_name(&head, name);
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}
