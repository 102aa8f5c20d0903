/*
 * Ranks that disagree are told who differs in what, each setting and all else of a call: calls of
 * many ranks, whose headers and mismatches are added by hand. How many words ranks that agree expect in the next call.
 */
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "collective/agreement.h"
#include "collective/mismatch.h"
#include "collective/ranks.h"
#include "support/refused.h"

/* A rank's call. */
typedef struct arguments {
    sbn_batchnorm_config config;
    sbn_call call;
    int order, block; /* as another build of the library has them */
} arguments;

static const arguments usual = {
    .config = SBN_BATCHNORM_CONFIG_INIT,
    .call = {.operation = "backward",
             .name = "odd",
             .number = 7,
             .code = SBN_CODE_BACKWARD,
             .channels = 3,
             .saved = 4},
    .order = SBN_ORDER_VERSION,
    .block = 256,
};

/* What all ranks' words add up to. */
typedef struct sums {
    int64_t header[SBN_HEADER_WORDS], *mismatch;
    int agree, world_size;
} sums;

/* `apart`: each rank has another size of a block. */
static sums add_calls(const refusal *row, int world_size, int apart)
{
    sums s = {.mismatch = calloc(sbn__mismatch_words(world_size), sizeof(int64_t)),
              .world_size = world_size};
    must(s.mismatch ? SBN_SUCCESS : SBN_OUT_OF_MEMORY, "calloc");
    for (int rank = 0; rank < world_size; ++rank) {
        int64_t own[SBN_HEADER_WORDS];
        arguments a = usual;
        a.block = apart ? 4 * rank : a.block;
        if (row && rank < 32)
            refusal_apply(row, rank, &a, NULL);
        sbn_settings settings = sbn__settings_of(&a.config);
        settings.digest ^= (uint32_t)(a.order * 7919 + a.block);
        settings.words[SBN_SETTING_ORDER] = a.order;
        settings.words[SBN_SETTING_BLOCK] = a.block;
        a.call.settings = &settings;
        sbn__header_fill(own, a.call.error, 1, a.call.number, 25,
                         sbn__call_digest(SBN_DIGEST_START, &a.call));
        for (int i = 0; i < SBN_HEADER_WORDS; ++i)
            s.header[i] += own[i];
        sbn__mismatch_fill(s.mismatch, rank, &a.call);
    }
    sbn_communicator all = {.transport = {.world_size = world_size}};
    s.agree = sbn__header_agrees(&all, s.header, 25);
    return s;
}

/* For each row: the calls do not agree, and the sentence about the layer in `place` is this one. */
static void disagree(int world_size, size_t place, const refusal *rows, size_t count)
{
    for (const refusal *row = rows; row < rows + count; ++row) {
        char what[256];
        const sums s = add_calls(row, world_size, 0);
        row = refusal_apply(row, -1, NULL, what);
        const int status = sbn__mismatch_read(s.mismatch, place, 1, world_size);
        tap_ok(!s.agree && !sbn__mismatch_goes_on(s.mismatch, world_size) &&
                   status == SBN_DISAGREEMENT && !strcmp(sbn_last_error(), row->words),
               "%s: expected %s, got %s: %s", what, row->words, sbn_strerror(status),
               sbn_last_error());
        free(s.mismatch);
    }
}

#define DISAGREE(world_size, place, rows) \
    disagree(world_size, place, rows, sizeof(rows) / sizeof *(rows))
#define LAYER "backward of layer \"odd\" with 3 channels"
#define ALIKE "the ranks disagree: all ranks called " LAYER
#define DIFFERENT "the ranks made different calls: "
#define ONE(called) DIFFERENT "rank 1 called " called "; ranks 0, 2, 3 called " LAYER
#define TOO(field, value, rank) ROW(field, value, NULL, .odd = 1u << (rank))
#define EPS(rank, others) "eps 0.001 on rank " rank ", 1e-05 on ranks " others
#define SET(field, value, odd, others) \
    ROW(config.field, value, ALIKE " (" odd " on rank 1, " others " on ranks 0, 2, 3)")

static void check_settings(void)
{
    const refusal rows[] = {
        SET(eps_mode, SBN_EPS_CLAMP, "eps_mode SBN_EPS_CLAMP", "SBN_EPS_ADD"),
        SET(momentum, 0.01, "momentum 0.01", "0.1"),
        SET(average, SBN_AVERAGE_CUMULATIVE, "average SBN_AVERAGE_CUMULATIVE",
            "SBN_AVERAGE_MOMENTUM"),
        SET(affine, 0, "affine 0", "1"),
        SET(track_running_stats, 0, "track_running_stats 0", "1"),
        SET(activation, SBN_LEAKY_RELU, "activation SBN_LEAKY_RELU", "SBN_IDENTITY"),
        SET(slope, 100000, "slope 100000", "0.01"),
        SET(residual, 1, "residual 1", "0"),
        SET(from_output, 1, "from_output 1", "0"),
        /* Three values, and four settings. */
        TOO(config.type, SBN_F16, 3),
        ROW(config.type, SBN_BF16,
            ALIKE " (type SBN_BF16 on rank 1, SBN_F16 on rank 3, SBN_F32 on ranks 0, 2)"),
        TOO(config.momentum, 0.2, 3),
        TOO(config.eps, 1e-3, 1),
        TOO(order, 4, 1),
        ROW(call.flags, SBN_KEEP_RUNNING_STATS,
            ALIKE
            " (flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2, 3; eps 0.001 on rank 1, "
            "1e-05 on ranks 0, 2, 3; momentum 0.2 on rank 3, 0.1 on ranks 0, 1, 2; order version 4 "
            "on rank 1, 3 on ranks 0, 2, 3)"),
    };
    DISAGREE(4, 0, rows);
}

static void check_calls(void)
{
    const refusal rows[] = {
        ROW(config.eps, 1.0000000000000003e-05,
            ALIKE " (eps 1.0000000000000003e-05 on rank 1, 1e-05 on ranks 0, 2, 3)"),
        ROW(block, 512, ALIKE " (elements a block 512 on rank 1, 256 on ranks 0, 2, 3)"),
        ROW(call.number, 6, ALIKE " (call number 6 on rank 1, 7 on ranks 0, 2, 3)"),
        ROW(call.number, 65543, ALIKE " (call number 65543 on rank 1, 7 on ranks 0, 2, 3)"),
        ROW(call.flags, 8 | SBN_KEEP_RUNNING_STATS | SBN_GLOBAL_GRADIENTS,
            ALIKE " (flags SBN_KEEP_RUNNING_STATS | SBN_GLOBAL_GRADIENTS on rank 1, 0 on ranks 0, "
                  "2, 3)"),
        ROW(call.saved, 5, ALIKE " (saved by call 5 on rank 1, 4 on ranks 0, 2, 3)"),
        ROW(call.saved_place, 2, ALIKE " (saved in place 3 on rank 1, 1 on ranks 0, 2, 3)"),
        ROW(call.name, "even", ONE("backward of layer \"even\" with 3 channels")),
        ROW(call.channels, 4, ONE("backward of layer \"odd\" with 4 channels")),
        ROW(call.code, SBN_CODE_FROZEN_BACKWARD, ONE("frozen " LAYER)),
        /* Of no operation that there is. */
        ROW(call.code, 0, ONE("nothing of layer \"odd\" with 3 channels")),
        ROW(call.code, SBN_CODE_PARALLEL + 1, ONE("nothing of layer \"odd\" with 3 channels")),
        TOO(call.channels, 0, 1),
        ROW(call.code, SBN_CODE_SPLIT, ONE("sbn_group_split")),
        /* Two ranks, each in its own way. */
        TOO(config.eps, 1e-3, 1),
        ROW(call.code, SBN_CODE_FORWARD,
            DIFFERENT "ranks 0, 1 called " LAYER " (eps 1e-05 on rank 0, 0.001 on rank 1); "
                      "ranks 2, 3 called forward of layer \"odd\" with 3 channels",
            .odd = 3u << 2),
        TOO(config.affine, 0, 3),
        ROW(config.eps, 1e-3,
            ALIKE " (" EPS("1", "0, 2, 3") "; affine 0 on rank 3, 1 on ranks 0, 1, 2)"),
    };
    const refusal two_alike[] = {
        TOO(config.eps, 1e-3, 3),
        ROW(config.eps, 1e-3, ALIKE " (eps 0.001 on ranks 1, 3, 1e-05 on ranks 0, 2, 4)"),
    };
    /* Of a set that has ranks on both sides of another's. */
    const refusal between[] = {
        TOO(config.eps, 1e-3, 2),
        ROW(call.code, SBN_CODE_FORWARD,
            DIFFERENT "ranks 0, 2, 3 called " LAYER " (eps 0.001 on rank 2, 1e-05 on ranks 0, 3); "
                      "ranks 1, 4, 5, 6 called forward of layer \"odd\" with 3 channels",
            .odd = 0x72),
    };
    const refusal later[] = {
        ROW(config.eps, 1e-3, ALIKE " in place 2 (" EPS("1", "0, 2, 3") ")"),
        ROW(call.channels, 0, ONE("backward of 1 layer") " in place 2"),
        ROW(call.channels, 1,
            ONE("backward of layer \"odd\" with 1 channels in place 2") " in place 2"),
    };
    DISAGREE(4, 0, rows);
    DISAGREE(5, 0, two_alike);
    DISAGREE(7, 0, between);
    DISAGREE(4, 1, later);
    const refusal all[] = {ROW(call.channels, 0, "", .odd = ~0u),
                           ROW(call.channels, 1, "", .odd = ~0u),
                           ROW(call.name, "odd\0behind", "")};
    for (int more = 0; more < 3; ++more) {
        const sums alike = add_calls(&all[more], 4, 0);
        tap_ok(alike.agree && sbn__mismatch_goes_on(alike.mismatch, 4) == (more > 0),
               "all alike: %d layers more", more > 0);
        free(alike.mismatch);
    }
}

static void check_errors(void)
{
    const refusal rows[] = {
        TOO(call.error, SBN_INVALID_ARGUMENT, 2),
        TOO(call.error, SBN_GROUP_FAILED, 3),
        ROW(config.eps, 1e-3,
            "a rank cannot take part: rank 2 called " LAYER " and reported SBN_INVALID_ARGUMENT; "
            "rank 3 called " LAYER " and reported SBN_GROUP_FAILED"),
    };
    const sums s = add_calls(rows, 4, 0);
    const int own = sbn__mismatch_read(s.mismatch, 0, 3, 4);
    const int other = sbn__mismatch_read(s.mismatch, 0, 1, 4);
    tap_ok(!s.agree && own == SBN_GROUP_FAILED && other == SBN_REMOTE_ERROR &&
               !sbn__mismatch_gives_up(s.mismatch, 4) && !strcmp(sbn_last_error(), rows[2].words),
           "two errors, and another eps, which is left out: expected %s, got %s", rows[2].words,
           sbn_last_error());
    free(s.mismatch);
    const refusal first[] = {ROW(call.error, SBN_ABORTED, "", .odd = 1)};
    const sums one = add_calls(first, 4, 0);
    sbn__mismatch_read(one.mismatch, 0, 1, 4);
    tap_ok(strstr(sbn_last_error(), "part: rank 0 called") != NULL &&
               sbn__mismatch_gives_up(one.mismatch, 4),
           "the first rank's: %s", sbn_last_error());
    free(one.mismatch);
}

#define LONG "backbone.layer4.2.downsample.branches.left.norm"
#define SHORTENED "backward of layer \"backbone.layer4.2.downsample.bra...79c0"
#define MOST "0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 and 4078 more"

/* Names and sentences that are too long lose their least important part. */
static void check_room(void)
{
    const refusal long_names[] = {
        ROW(call.name, LONG "2", NULL, .odd = 5),
        ROW(call.name, LONG "1",
            DIFFERENT "rank 1 called " SHORTENED "498d\" with 3 channels; ranks 0, 2 "
                      "called " SHORTENED "4474\" with 3 channels"),
    };
    const refusal many[] = {
        ROW(config.eps, 1e-3, ALIKE " (" EPS("1", MOST) ")"),
        ROW(call.name, LONG,
            DIFFERENT "rank 1 called backward of layer \"" LONG "\" with 3 channels; ranks " MOST
                      " called " LAYER),
    };
    DISAGREE(3, 0, long_names);
    DISAGREE(SBN_MAX_WORLD_SIZE, 0, many);
    const sums s = add_calls(NULL, SBN_MAX_WORLD_SIZE, 1);
    sbn__mismatch_read(s.mismatch, 0, 0, s.world_size);
    tap_ok(strlen(sbn_last_error()) == SBN_SENTENCE_SIZE - 1 &&
               strstr(sbn_last_error(),
                      "(elements a block 0 on rank 0, 4 on rank 1, 8 on rank 2, "),
           "4095 values: as many as fit: %s", sbn_last_error());
    free(s.mismatch);
    tap_ok(sbn__mismatch_words(3) == 3 * 26, "a slot has as many words as transport.h says: %d",
           (int)sbn__mismatch_words(3) / 3);
    const int ranks[SBN_RANKS_LISTED + 1] = {0, 2, 4};
    for (int count = 3; count <= SBN_RANKS_LISTED + 1; count += SBN_RANKS_LISTED - 2) {
        char list[] = "list of ranks and no more";
        sbn__ranks_print(ranks, count, list, 13);
        tap_ok(!strcmp(list, "ranks 0, 2, ") && !strcmp(list + 13, " and no more"),
               "%d ranks in 13 bytes: %s", count, list);
    }
}

/* --- what is expected of the next call --- */

/* A call of a group of one rank: 1 if its words were not expected. */
static int surprises(sbn_communicator *c, size_t words, int at_once)
{
    int64_t header[SBN_HEADER_WORDS];
    const int surprised = c->forecast.words != words;
    ++c->calls;
    sbn__header_fill(header, 0, at_once, 0, (uint32_t)words, 0);
    must(!sbn__header_agrees(c, header, words), "sbn__header_agrees");
    return surprised;
}

/* As many calls are not expected when they come for the first, the second and the third time. */
static void forecast(const size_t *words, size_t calls, int first, int second, int third,
                     const char *what)
{
    sbn_communicator c = {.transport = {.world_size = 1}};
    int expected[] = {first, second, third}, surprised[3] = {0};
    for (int step = 0; step < 3; ++step)
        for (size_t i = 0; i < calls; ++i)
            surprised[step] += surprises(&c, words[i], 1);
    tap_ok(!memcmp(surprised, expected, sizeof expected),
           "%s: expected %d, %d, %d surprises; got %d, %d, %d", what, first, second, third,
           surprised[0], surprised[1], surprised[2]);
}

static void check_forecasts(void)
{
    size_t words[SBN_CALLS_KEPT], layers = 0;
    const size_t blocks[] = {3, 4, 6, 3}, alike[] = {2, 2, 2, 2, 2, 2, 3};
    words[layers++] = 64;
    for (size_t stage = 0; stage < 4; ++stage)
        for (size_t i = 0; i <= 3 * blocks[stage]; ++i)
            words[layers++] = (size_t)((i > 2 ? i - 1 : i) % 3 == 2 ? 256 : 64) << stage;
    for (size_t i = 0; i < layers; ++i) {
        words[2 * layers - 1 - i] = 2 + 9 * words[i];
        words[i] = 2 + 8 * words[i];
    }
    forecast(words, 2 * layers, 53, 3, 0, "ResNet-50");
    forecast(alike, 7, 3, 6, 0, "six calls alike and another");
    forecast(alike, 1, 1, 1, 0, "one call");
    for (size_t i = 0; i < SBN_CALLS_KEPT; ++i)
        words[i] = 7 * i + 3;
    forecast(words, SBN_CALLS_KEPT - 1, SBN_CALLS_KEPT - 1, 1, 0, "as many calls as are kept");
    forecast(words, SBN_CALLS_KEPT, SBN_CALLS_KEPT, SBN_CALLS_KEPT, SBN_CALLS_KEPT, "one more");

    /* A step of a call, one that is not ended at once, and a third. */
    sbn_communicator c = {.transport = {.world_size = 1}};
    int surprised[3] = {0};
    for (int step = 0; step < 3; ++step) {
        surprised[0] = surprises(&c, 5, 1);
        surprised[1] += surprises(&c, 0, 0);
        surprised[2] = surprises(&c, 6, 1);
    }
    tap_ok(!surprised[0], "what follows the last call is expected");
    tap_ok(!surprised[1] && surprised[2], "nothing is, where calls are not ended at once");
    for (int i = 0; i < 1100; ++i)
        surprises(&c, (size_t)(5 + i % 2), 1);
    tap_ok(surprises(&c, 9, 1) && surprises(&c, 5, 1) && !surprises(&c, 6, 1),
           "an odd call behind more calls than are kept");
    for (int i = 0; i < 10; ++i)
        surprises(&c, (size_t)(5 + i % 2), 1);
    tap_ok(!surprises(&c, 5, 0) && !surprises(&c, 5, 1) && !surprises(&c, 6, 1),
           "a call that for once is not ended at once is not learnt");
}

int main(void)
{
    check_settings();
    check_calls();
    check_errors();
    check_room();
    check_forecasts();
    return tap_done();
}
