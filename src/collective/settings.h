/*
 * The settings of a layer that must be equal on all ranks, a word for each, so that a difference
 * can be named. The layout is not among them: ranks may store their shards in either. The version
 * of the order of summation is: ranks of different builds must not add sums of different orders.
 */
#pragma once

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
    SBN_SETTING_TYPE,
    SBN_SETTING_ACTIVATION,
    SBN_SETTING_SLOPE,
    SBN_SETTING_RESIDUAL,
    SBN_SETTING_FROM_OUTPUT,
    SBN_SETTING_ORDER,
    SBN_SETTING_BLOCK,
    SBN_SETTINGS
};

typedef struct sbn_settings {
    int64_t words[SBN_SETTINGS];
    uint32_t digest; /* of the words */
} sbn_settings;

sbn_settings sbn__settings_of(const sbn_batchnorm_config *config);

/* By setting: "eps"; and a word of one as text: "1e-05". */
extern const char *const sbn__setting_names[SBN_SETTINGS];
void sbn__setting_print(int setting, int64_t word, char *out, size_t size);
