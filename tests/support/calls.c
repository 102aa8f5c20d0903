#include "support/calls.h"

#include <stdlib.h>
#include <string.h>

#include "base/digest.h"

sbn_call call_usual(sbn_settings *settings)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    *settings = sbn__settings_of(&config);
    return (sbn_call){.operation = "backward",
                      .name = "odd",
                      .settings = settings,
                      .number = 7,
                      .code = SBN_CODE_BACKWARD,
                      .channels = 3,
                      .saved = 4};
}

int calls_agree(call_of *of, int world_size)
{
    int64_t sums[SBN_HEADER_WORDS] = {0}, own[SBN_HEADER_WORDS];
    for (int rank = 0; rank < world_size; ++rank) {
        sbn_settings settings;
        const sbn_call call = of(rank, &settings);
        sbn__header_fill(own, call.error, call.number, 25,
                         sbn__call_digest(SBN_DIGEST_START, &call));
        for (int i = 0; i < SBN_HEADER_WORDS; ++i)
            sums[i] += own[i];
    }
    return sbn__header_agrees(sums, world_size);
}

int64_t *calls_mismatch(call_of *of, int world_size)
{
    int64_t *words = calloc(sbn__mismatch_words(world_size), sizeof *words);
    if (!words)
        abort();
    for (int rank = 0; rank < world_size; ++rank) {
        sbn_settings settings;
        const sbn_call call = of(rank, &settings);
        sbn__mismatch_fill(words, rank, &call);
    }
    return words;
}

void calls_say(const char *what, call_of *of, int world_size, size_t place, const char *expected)
{
    char sentence[SBN_SENTENCE_SIZE];
    int64_t *words = calls_mismatch(of, world_size);
    const int status = sbn__mismatch_read(words, place, 1, world_size, sentence, sizeof sentence);
    tap_ok(!calls_agree(of, world_size) && !sbn__mismatch_goes_on(words, world_size) &&
               status == SBN_DISAGREEMENT && !strcmp(sentence, expected),
           "%s: expected %s, got %s: %s", what, expected, sbn_strerror(status), sentence);
    free(words);
}
