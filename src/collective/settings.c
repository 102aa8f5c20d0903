#include "collective/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/activation.h"
#include "base/digest.h"
#include "base/type.h"
#include "exact/format.h"

static int64_t word_of(double value)
{
    int64_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

sbn_settings sbn__settings_of(const sbn_batchnorm_config *config)
{
    sbn_settings made = {.words = {
                             [SBN_SETTING_EPS] = word_of(config->eps),
                             [SBN_SETTING_EPS_MODE] = config->eps_mode,
                             [SBN_SETTING_MOMENTUM] = word_of(config->momentum),
                             [SBN_SETTING_AVERAGE] = config->average,
                             [SBN_SETTING_AFFINE] = config->affine,
                             [SBN_SETTING_TRACKING] = config->track_running_stats,
                             [SBN_SETTING_TYPE] = config->type,
                             [SBN_SETTING_ACTIVATION] = config->activation,
                             [SBN_SETTING_SLOPE] = word_of(config->slope),
                             [SBN_SETTING_RESIDUAL] = config->residual,
                             [SBN_SETTING_FROM_OUTPUT] = config->from_output,
                             [SBN_SETTING_ORDER] = SBN_ORDER_VERSION,
                             [SBN_SETTING_BLOCK] = SBN_BLOCK,
                         }};
    made.digest = (uint32_t)sbn__digest(SBN_DIGEST_START, made.words, sizeof made.words);
    return made;
}

const char *const sbn__setting_names[SBN_SETTINGS] = {
    [SBN_SETTING_EPS] = "eps",
    [SBN_SETTING_EPS_MODE] = "eps_mode",
    [SBN_SETTING_MOMENTUM] = "momentum",
    [SBN_SETTING_AVERAGE] = "average",
    [SBN_SETTING_AFFINE] = "affine",
    [SBN_SETTING_TRACKING] = "track_running_stats",
    [SBN_SETTING_TYPE] = "type",
    [SBN_SETTING_ACTIVATION] = "activation",
    [SBN_SETTING_SLOPE] = "slope",
    [SBN_SETTING_RESIDUAL] = "residual",
    [SBN_SETTING_FROM_OUTPUT] = "from_output",
    [SBN_SETTING_ORDER] = "order version",
    [SBN_SETTING_BLOCK] = "elements a block",
};

/* The fewest digits that read back as the same number, so that different values print differently. */
static void print_number(int64_t word, char *out, size_t size)
{
    double value;
    memcpy(&value, &word, sizeof value);
    for (int digits = 6; digits <= 17; ++digits) {
        snprintf(out, size, "%.*g", digits, value);
        if (word_of(strtod(out, NULL)) == word)
            return;
    }
}

/* The name of a value; NULL: it has none. Another rank's word may be anything. */
static const char *value_name(int setting, int64_t word)
{
    static const char *const activations[SBN_ACTIVATIONS] = {"SBN_IDENTITY", "SBN_RELU",
                                                             "SBN_LEAKY_RELU"};
    if (setting == SBN_SETTING_EPS_MODE)
        return word == SBN_EPS_CLAMP ? "SBN_EPS_CLAMP" : "SBN_EPS_ADD";
    if (setting == SBN_SETTING_AVERAGE)
        return word == SBN_AVERAGE_CUMULATIVE ? "SBN_AVERAGE_CUMULATIVE" : "SBN_AVERAGE_MOMENTUM";
    if (setting == SBN_SETTING_TYPE && word >= 0 && word < SBN_TYPES)
        return sbn__type_name((sbn_type)word);
    if (setting == SBN_SETTING_ACTIVATION && word >= 0 && word < SBN_ACTIVATIONS)
        return activations[word];
    return NULL;
}

void sbn__setting_print(int setting, int64_t word, char *out, size_t size)
{
    const char *name = value_name(setting, word);
    if (name)
        snprintf(out, size, "%s", name);
    else if (setting == SBN_SETTING_EPS || setting == SBN_SETTING_MOMENTUM ||
             setting == SBN_SETTING_SLOPE)
        print_number(word, out, size);
    else
        snprintf(out, size, "%lld", (long long)word);
}
