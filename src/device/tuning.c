#include "device/tuning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "program/identity.h"

static const char *const names[SBN_TUNED] = {"groups", "reduce", "slices", "apply", "cache"};

size_t sbn__tuned(const sbn_tuning *tuning, sbn_tuned which, size_t planned)
{
    const uint32_t percent = tuning->percent[which];
    if (!percent)
        return planned;
    const size_t tuned = planned / 100 * percent + planned % 100 * percent / 100;
    return tuned ? tuned : 1;
}

static int refuse(const char *got, size_t length, char *sentence, size_t size)
{
    snprintf(sentence, size, "expected NAME=PERCENT,... of");
    for (int i = 0; i < SBN_TUNED; ++i)
        sbn__text_add(sentence, size, " %s,", names[i]);
    sbn__text_add(sentence, size, " each once and from %d to %d, got \"%.*s\"", SBN_TUNING_LEAST,
                  SBN_TUNING_MOST, (int)length, got);
    return 0;
}

/* "groups=200": 1 if it is so and new. */
static int parse_one(const char *word, size_t length, sbn_tuning *tuning)
{
    for (int i = 0; i < SBN_TUNED; ++i) {
        const size_t before = strlen(names[i]) + 1;
        if (strncmp(word, names[i], before - 1) != 0 || word[before - 1] != '=')
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
    out[0] = '\0';
    for (int i = 0; i < SBN_TUNED; ++i)
        if (tuning->percent[i] && tuning->percent[i] != 100)
            sbn__text_add(out, SBN_TUNING_TEXT, "%s%s=%" PRIu32, *out ? "," : "", names[i],
                          tuning->percent[i]);
}

/* Numbers are kept by whose they are. */
static const char kept[] = "tuning";
typedef struct owner {
    char text[sizeof(sbn_identity) + 256];
    sbn_bytes key;
} owner;

/* 0 if the driver does not tell it. */
static int find_owner(owner *o, cl_device_id device, sbn_kernel_form form)
{
    sbn_identity identity;
    cl_uint units;
    if (!sbn__identity_of(device, &identity) ||
        clGetDeviceInfo(device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL) !=
            CL_SUCCESS)
        return 0;
    snprintf(o->text, sizeof o->text, "form %d, %u compute units\n", (int)form, (unsigned)units);
    for (int i = 0; i < SBN_IDENTITY_NAMES; ++i)
        sbn__text_add(o->text, sizeof o->text, "%s\n", identity.names[i]);
    o->key = (sbn_bytes){(unsigned char *)o->text, strlen(o->text)};
    return 1;
}

int sbn__tuning_load(int folder, cl_device_id device, sbn_kernel_form form, sbn_tuning *tuning)
{
    owner o;
    sbn_bytes found;
    char sentence[256];
    *tuning = (sbn_tuning){{0}};
    if (folder < 0 || !find_owner(&o, device, form) ||
        !sbn__cache_load(folder, kept, &o.key, &found))
        return 0;
    /* A string, with its NUL. */
    const int good = memchr(found.at, '\0', found.size) == found.at + found.size - 1 &&
                     sbn__tuning_parse((char *)found.at, tuning, sentence, sizeof sentence);
    sbn__bytes_free(&found);
    return good;
}

int sbn__tuning_keep(int folder, cl_device_id device, sbn_kernel_form form,
                     const sbn_tuning *tuning, char name[SBN_CACHE_NAME])
{
    owner o;
    char numbers[SBN_TUNING_TEXT];
    if (!find_owner(&o, device, form))
        return 0;
    sbn__cache_name(name, kept, &o.key);
    sbn__tuning_print(tuning, numbers);
    return sbn__cache_store(folder, kept, &o.key,
                            &(sbn_bytes){(unsigned char *)numbers, strlen(numbers) + 1});
}

int sbn__tuning_forget(int folder, cl_device_id device, sbn_kernel_form form)
{
    owner o;
    char name[SBN_CACHE_NAME];
    if (!find_owner(&o, device, form))
        return 0;
    sbn__cache_name(name, kept, &o.key);
    return unlinkat(folder, name, 0) == 0 || errno == ENOENT;
}
