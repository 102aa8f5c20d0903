/* Ranks that disagree are told who differs in what: each setting, each fault, and many ranks. */
#include <stdlib.h>
#include <string.h>

#include <syncbn/pass.h>
#include <syncbn/transport.h>

#include "support/calls.h"

static sbn_call alike(int rank, sbn_settings *settings)
{
    (void)rank;
    return call_usual(settings);
}

/* Rank 1 has made its layer otherwise. */
#define WITH(what, setting) \
    static sbn_call what(int rank, sbn_settings *settings) \
    { \
        sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT; \
        const sbn_call call = call_usual(settings); \
        config.setting; \
        if (rank == 1) \
            *settings = sbn__settings_of(&config); \
        return call; \
    }

WITH(other_eps, eps = 1e-3)
WITH(next_eps, eps = 1.0000000000000003e-05)
WITH(other_eps_mode, eps_mode = SBN_EPS_CLAMP)
WITH(other_momentum, momentum = 0.01)
WITH(other_average, average = SBN_AVERAGE_CUMULATIVE)
WITH(other_affine, affine = 0)
WITH(other_tracking, track_running_stats = 0)

/* Rank 1 has another build of the library. */
#define BUILT(what, setting, value) \
    static sbn_call what(int rank, sbn_settings *settings) \
    { \
        const sbn_call call = call_usual(settings); \
        if (rank == 1) { \
            settings->words[setting] = value; \
            settings->digest ^= 1; \
        } \
        return call; \
    }

BUILT(other_order, SBN_SETTING_ORDER, 2)
BUILT(other_block, SBN_SETTING_BLOCK, 512)

/* Rank 1's call is another one. */
#define CALLED(what, difference) \
    static sbn_call what(int rank, sbn_settings *settings) \
    { \
        sbn_call call = call_usual(settings); \
        if (rank == 1) \
            call.difference; \
        return call; \
    }

CALLED(other_number, number = 6)
CALLED(other_flags, flags = SBN_KEEP_RUNNING_STATS | SBN_GLOBAL_GRADIENTS)
CALLED(other_forward, saved = 5)
CALLED(other_place, saved_place = 2)
CALLED(other_name, name = "even")
CALLED(other_channels, channels = 4)
CALLED(other_operation, code = SBN_CODE_FROZEN_BACKWARD)
CALLED(lacking, channels = 0)

static void check_settings(void)
{
    calls_say("eps", other_eps, 4, 0, DISAGREE " (eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3)");
    calls_say("the next eps", next_eps, 4, 0,
              DISAGREE " (eps 1.0000000000000003e-05 on rank 1, 1e-05 on ranks 0, 2, 3)");
    calls_say("eps_mode", other_eps_mode, 4, 0,
              DISAGREE " (eps_mode SBN_EPS_CLAMP on rank 1, SBN_EPS_ADD on ranks 0, 2, 3)");
    calls_say("momentum", other_momentum, 4, 0,
              DISAGREE " (momentum 0.01 on rank 1, 0.1 on ranks 0, 2, 3)");
    calls_say("average", other_average, 4, 0,
              DISAGREE " (average SBN_AVERAGE_CUMULATIVE on rank 1, "
                       "SBN_AVERAGE_MOMENTUM on ranks 0, 2, 3)");
    calls_say("affine", other_affine, 4, 0, DISAGREE " (affine 0 on rank 1, 1 on ranks 0, 2, 3)");
    calls_say("tracking", other_tracking, 4, 0,
              DISAGREE " (track_running_stats 0 on rank 1, 1 on ranks 0, 2, 3)");
    calls_say("order", other_order, 4, 0,
              DISAGREE " (order version 2 on rank 1, 3 on ranks 0, 2, 3)");
    calls_say("block", other_block, 4, 0,
              DISAGREE " (elements a block 512 on rank 1, 256 on ranks 0, 2, 3)");
}

static void check_calls(void)
{
    calls_say("number", other_number, 4, 0,
              DISAGREE " (call number 6 on rank 1, 7 on ranks 0, 2, 3)");
    calls_say("flags", other_flags, 4, 0,
              DISAGREE " (flags SBN_KEEP_RUNNING_STATS | SBN_GLOBAL_GRADIENTS on rank 1, "
                       "0 on ranks 0, 2, 3)");
    calls_say("forward", other_forward, 4, 0,
              DISAGREE " (saved by call 5 on rank 1, 4 on ranks 0, 2, 3)");
    calls_say("place", other_place, 4, 0,
              DISAGREE " (saved in place 3 on rank 1, 1 on ranks 0, 2, 3)");
    calls_say("name", other_name, 4, 0,
              DIFFERENT "rank 1 called backward of layer \"even\" with 3 channels; "
                        "ranks 0, 2, 3 called " LAYER);
    calls_say("channels", other_channels, 4, 0,
              DIFFERENT "rank 1 called backward of layer \"odd\" with 4 channels; "
                        "ranks 0, 2, 3 called " LAYER);
    calls_say("operation", other_operation, 4, 0,
              DIFFERENT "rank 1 called frozen " LAYER "; ranks 0, 2, 3 called " LAYER);
}

/* Ranks 1 and 3 are faulty, each in its own way. */
static sbn_call two_faults(int rank, sbn_settings *settings)
{
    sbn_call call = other_eps(rank, settings);
    call.code = rank == 3 ? SBN_CODE_FORWARD : SBN_CODE_BACKWARD;
    return call;
}

static sbn_call two_settings(int rank, sbn_settings *settings)
{
    return rank == 3 ? other_affine(1, settings) : other_eps(rank, settings);
}

static sbn_call two_alike(int rank, sbn_settings *settings)
{
    return other_eps(rank % 2, settings);
}

static sbn_call two_errors(int rank, sbn_settings *settings)
{
    sbn_call call = other_eps(rank, settings);
    call.error = rank == 2 ? SBN_INVALID_ARGUMENT : rank == 3 ? SBN_GROUP_FAILED : SBN_SUCCESS;
    return call;
}

static void check_two(void)
{
    calls_say("a call and a setting", two_faults, 4, 0,
              DIFFERENT "rank 3 called forward of layer \"odd\" with 3 channels; ranks 0, 1, 2 "
                        "called " LAYER " (eps 0.001 on rank 1, 1e-05 on ranks 0, 2)");
    calls_say("two settings", two_settings, 4, 0,
              DISAGREE " (eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3; "
                       "affine 0 on rank 3, 1 on ranks 0, 1, 2)");
    calls_say("two in the same", two_alike, 5, 0,
              DISAGREE " (eps 0.001 on ranks 1, 3, 1e-05 on ranks 0, 2, 4)");
    char sentence[SBN_SENTENCE_SIZE];
    int64_t *words = calls_mismatch(two_errors, 4);
    const int own = sbn__mismatch_read(words, 0, 3, 4, sentence, sizeof sentence);
    const int other = sbn__mismatch_read(words, 0, 1, 4, sentence, sizeof sentence);
    tap_ok(!calls_agree(two_errors, 4) && own == SBN_GROUP_FAILED && other == SBN_REMOTE_ERROR &&
               !strcmp(sentence, "a rank cannot take part: "
                                 "rank 2 called " LAYER " and reported SBN_INVALID_ARGUMENT; "
                                 "rank 3 called " LAYER " and reported SBN_GROUP_FAILED"),
           "two errors, and another eps, which is left out: %s", sentence);
    free(words);
}

/* A later layer of a call. */
static void check_places(void)
{
    int64_t *words = calls_mismatch(alike, 4);
    tap_ok(calls_agree(alike, 4) && sbn__mismatch_goes_on(words, 4), "all alike: the next layer");
    free(words);
    calls_say("the third layer", other_eps, 4, 2,
              DISAGREE " in place 3 (eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3)");
    calls_say("a layer less", lacking, 4, 2,
              DIFFERENT "rank 1 called backward of 2 layers; ranks 0, 2, 3 called " LAYER
                        " in place 3");
}

/* Names that differ where a slot has no more room for them. */
static sbn_call long_names(int rank, sbn_settings *settings)
{
    sbn_call call = call_usual(settings);
    call.name = rank == 1 ? "backbone.layer4.2.downsample.branches.left.norm1"
                          : "backbone.layer4.2.downsample.branches.left.norm2";
    return call;
}

static sbn_call all_apart(int rank, sbn_settings *settings)
{
    const sbn_call call = call_usual(settings);
    settings->words[SBN_SETTING_BLOCK] = 4 * rank;
    settings->digest = (uint32_t)rank;
    return call;
}

#define MOST "0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 4078 more"

/* A sentence that is too long loses its least important part. */
static void check_room(void)
{
    calls_say("long names", long_names, 3, 0,
              DIFFERENT
              "rank 1 called backward of layer \"backbone.layer4.2.downsample.bra...79c0498d\" "
              "with 3 channels; ranks 0, 2 called backward of layer "
              "\"backbone.layer4.2.downsample.bra...79c04474\" with 3 channels");
    calls_say("4095 ranks, another eps", other_eps, SBN_MAX_WORLD_SIZE, 0,
              DISAGREE " (eps 0.001 on rank 1, 1e-05 on ranks " MOST ")");
    calls_say("4095 ranks, another layer", other_name, SBN_MAX_WORLD_SIZE, 0,
              DIFFERENT "rank 1 called backward of layer \"even\" with 3 channels; ranks " MOST
                        " called " LAYER);
    char sentence[SBN_SENTENCE_SIZE];
    int64_t *words = calls_mismatch(all_apart, SBN_MAX_WORLD_SIZE);
    sbn__mismatch_read(words, 0, 0, SBN_MAX_WORLD_SIZE, sentence, sizeof sentence);
    tap_ok(strlen(sentence) == sizeof sentence - 1 &&
               strstr(sentence, "(elements a block 0 on rank 0, 4 on rank 1, 8 on rank 2, "),
           "4095 values: as many as fit: %s", sentence);
    free(words);
}

int main(void)
{
    check_settings();
    check_calls();
    check_two();
    check_places();
    check_room();
    return tap_done();
}
