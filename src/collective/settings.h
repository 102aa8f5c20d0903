/*
 * What all ranks must have made a layer with, a word for each setting, so that
 * those who differ can be told in what. The layout is left out: ranks may store
 * their shards as they like. The order of summation is in: ranks of different
 * builds must not add what they sum differently.
 */
#ifndef SBN_COLLECTIVE_SETTINGS_H
#define SBN_COLLECTIVE_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include <syncbn/batchnorm.h>

enum {
    SBN_SETTING_EPS,
    SBN_SETTING_EPS_MODE,
    SBN_SETTING_MOMENTUM,
    SBN_SETTING_AVERAGE,
    SBN_SETTING_AFFINE,
    SBN_SETTING_TRACKING,
    SBN_SETTING_ORDER,
    SBN_SETTING_BLOCK,
    SBN_SETTINGS
};

typedef struct sbn_settings {
    int64_t words[SBN_SETTINGS];
    uint32_t digest; /* of the words */
} sbn_settings;

sbn_settings sbn__settings_of(const sbn_batchnorm_config *config);

/* "eps", and a word of it as text: "1e-05". */
const char *sbn__setting_name(int setting);
void sbn__setting_print(int setting, int64_t word, char *out, size_t size);

#endif
