#include "collective/agreement.h"

#include <string.h>

#include "base/digest.h"

uint64_t sbn__call_digest(uint64_t digest, const sbn_call *call)
{
    const uint32_t numbers[] = {call->code,  call->settings ? call->settings->digest : 0,
                                call->flags, call->channels,
                                call->saved, call->saved_place};
    digest = sbn__digest(digest, numbers, sizeof numbers);
    return sbn__digest(digest, call->name, strlen(call->name) + 1);
}

/* Fields of 16 bits: their squares' sum over 4095 ranks, times 4095, stays below 2^63. */
static void put_fields(int64_t **word, uint64_t value, int bits)
{
    for (int low = 0; low < bits; low += 16) {
        const int64_t field = (int64_t)(value >> low & 0xffffu);
        *(*word)++ = field;
        *(*word)++ = field * field;
    }
}

void sbn__header_fill(int64_t *header, int error, int at_once, uint32_t number, uint32_t words,
                      uint64_t digest)
{
    int64_t *word = header;
    *word++ = error != 0;
    *word++ = at_once;
    put_fields(&word, number, 32);
    put_fields(&word, words, 32);
    put_fields(&word, digest, 64);
}

int sbn__header_agrees(sbn_communicator *c, const int64_t *header, size_t words)
{
    const int world_size = c->transport.world_size;
    if (header[0] != 0)
        return 0;
    /* Other ranks' words may be anything: products wrap around. */
    for (int i = 2; i < SBN_HEADER_WORDS; i += 2) {
        const uint64_t sum = (uint64_t)header[i], squares = (uint64_t)header[i + 1];
        if ((uint64_t)world_size * squares != sum * sum)
            return 0;
    }
    if (sbn__header_at_once(c, header))
        sbn__forecast_learn(&c->forecast, c->calls, words);
    return 1;
}

int sbn__header_at_once(const sbn_communicator *c, const int64_t *header)
{
    return header[1] == c->transport.world_size;
}
