/* How many words the next call will send. What all ranks learn from: src/collective/agreement.h. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { SBN_CALLS_KEPT = 1024 };
typedef struct sbn_forecast {
    size_t words;       /* 0: unknown */
    size_t calls, like; /* kept so far; the one whose words the next is expected to have */
    uint32_t number;    /* of the last call that was learnt */
    uint32_t kept[SBN_CALLS_KEPT]; /* words of the last calls, a ring; 0: unknown */
} sbn_forecast;

/* Learns the words of a call. Numbers count all calls from 1; those left out are one of unknown words. */
void sbn__forecast_learn(sbn_forecast *forecast, uint32_t number, size_t words);
