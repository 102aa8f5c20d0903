#include "check/digests.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "check/mix.h"
#include "exact/format.h"

static uint64_t of_inputs(const placement *g, const inputs *in)
{
    uint64_t digest = (uint64_t)in->batches;
    for (int i = 0; i < INPUT_ARRAYS; ++i)
        if (in->arrays[i])
            digest = mix(digest, digest_floats(in->arrays[i],
                                               i < INPUT_TENSORS ? g->elements : g->channels));
    return digest;
}

void digests_take(const placement *g, const inputs *in, const outputs *out, digests *d)
{
    d->order = SBN_ORDER_VERSION;
    d->inputs = of_inputs(g, in);
    for (int id = 0; id < OUTPUTS; ++id)
        d->of[id] = out->of[id].digest;
}

/* Where the digest of this name belongs; NULL if there is none. */
static uint64_t *place(digests *d, const char *name)
{
    if (strcmp(name, "inputs") == 0)
        return &d->inputs;
    for (int id = 0; id < OUTPUTS; ++id)
        if (strcmp(name, output_names[id]) == 0)
            return &d->of[id];
    return NULL;
}

/* One word, of `length` characters. Returns 0 or -1. */
static int read_word(const char *word, size_t length, digests *d)
{
    char name[32], digits[32], *end;
    int read = 0;
    if (sscanf(word, "%31[a-z_]=%31[0-9a-f]%n", name, digits, &read) != 2 || (size_t)read != length)
        return -1;
    if (strcmp(name, "order") == 0) {
        d->order = strtoul(digits, &end, 10);
        return *end || !d->order ? -1 : 0;
    }
    uint64_t *digest = place(d, name);
    if (!digest || strlen(digits) != 16)
        return -1;
    *digest = strtoull(digits, NULL, 16);
    return 0;
}

int digests_parse(const char *words, digests *d, char *error, size_t error_size)
{
    static const char blanks[] = " \t";
    size_t length;
    memset(d, 0, sizeof *d);
    words += strspn(words, blanks);
    int any = *words != 0;
    for (; *words; words += length, words += strspn(words, blanks)) {
        length = strcspn(words, blanks);
        if (read_word(words, length, d)) {
            snprintf(error, error_size,
                     "\"%.*s\" is no digest: expected order=3, inputs= or an output's name= with "
                     "16 hexadecimal digits",
                     (int)length, words);
            return -1;
        }
    }
    if (any && !(d->order && d->inputs)) {
        snprintf(error, error_size, "digests need order= and inputs= among them");
        return -1;
    }
    return 0;
}

void digests_print(const digests *d, char *text, size_t size)
{
    *text = 0;
    if (d->order)
        sbn__text_add(text, size, " order=%lu inputs=%016" PRIx64, d->order, d->inputs);
    for (int id = 0; id < OUTPUTS; ++id)
        if (d->of[id])
            sbn__text_add(text, size, " %s=%016" PRIx64, output_names[id], d->of[id]);
}

int digests_differ(const digests *recorded, const digests *here, char *text, size_t size)
{
    int others = 0;
    if (recorded->order != here->order) {
        snprintf(text, size, "digests of order %lu of summation cannot be compared with order %lu",
                 recorded->order, here->order);
        return 1;
    }
    if (recorded->inputs != here->inputs) {
        snprintf(text, size,
                 "the inputs are not those of the digests: expected %016" PRIx64
                 ", got %016" PRIx64,
                 recorded->inputs, here->inputs);
        return 1;
    }
    *text = 0;
    for (int id = 0; id < OUTPUTS; ++id)
        if (recorded->of[id] != here->of[id])
            sbn__text_add(text, size, "%s%s %016" PRIx64 " instead of %016" PRIx64,
                          others++ ? ", " : "other bits than recorded: ", output_names[id],
                          here->of[id], recorded->of[id]);
    return others > 0;
}
