/*
 * Ranks that disagree in a layer's settings, or a call's: each of them is told
 * which setting it is, and who has which value. Nothing has changed then, and the
 * groups go on.
 */
#include <stdio.h>
#include <string.h>

#include "layer/batchnorm.h"
#include "support/ranks.h"

static fixture device;

/* How the faulty ranks make their layer, or the call. */
typedef struct fault {
    const char *words; /* of everybody's sentence */
    void (*set)(sbn_batchnorm_config *config, int rank);
    void (*patch)(sbn_settings *settings, int rank); /* as another build would make them */
    unsigned flags;                                  /* of rank 1's call */
} fault;

static const fault *provoked;

static int forward_odd(test_rank *m)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    config.name = "odd";
    config.channels = RANK_CHANNELS;
    if (provoked->set)
        provoked->set(&config, m->rank);
    must(sbn_batchnorm_create(m->group, &config, &layer), "sbn_batchnorm_create");
    if (provoked->patch)
        provoked->patch(&layer->settings, m->rank);
    must(sbn_saved_create(layer, &saved), "sbn_saved_create");
    rank_says(m, sbn_forward(layer, m->shards, saved, m->rank == 1 ? provoked->flags : 0, NULL));
    sbn_saved_destroy(saved);
    sbn_batchnorm_destroy(layer);
    return m->status;
}

static void eps(sbn_batchnorm_config *config, int rank)
{
    config->eps = rank == 1 ? 1e-3 : 1e-5;
}

static void eps_mode(sbn_batchnorm_config *config, int rank)
{
    config->eps_mode = rank == 1 ? SBN_EPS_CLAMP : SBN_EPS_ADD;
}

static void momentum(sbn_batchnorm_config *config, int rank)
{
    config->momentum = rank == 1 ? 0.01 : 0.1;
}

static void average(sbn_batchnorm_config *config, int rank)
{
    config->average = rank == 1 ? SBN_AVERAGE_CUMULATIVE : SBN_AVERAGE_MOMENTUM;
}

static void affine(sbn_batchnorm_config *config, int rank)
{
    config->affine = rank != 1;
}

static void tracking(sbn_batchnorm_config *config, int rank)
{
    config->track_running_stats = rank != 1;
}

static void type(sbn_batchnorm_config *config, int rank)
{
    config->type = rank == 1 ? SBN_BF16 : rank == 3 ? SBN_F16 : SBN_F32;
}

static void activation(sbn_batchnorm_config *config, int rank)
{
    config->activation = rank == 1 ? SBN_LEAKY_RELU : rank == 3 ? SBN_RELU : SBN_IDENTITY;
}

static void slope(sbn_batchnorm_config *config, int rank)
{
    config->slope = rank == 1 ? 0.2 : 0.01;
}

/* The shards have none, which such a layer would miss first. */
static void residual(sbn_settings *settings, int rank)
{
    settings->words[SBN_SETTING_RESIDUAL] = rank == 1;
    settings->digest ^= rank == 1;
}

static void from_output(sbn_batchnorm_config *config, int rank)
{
    config->from_output = rank != 1;
}

static void order(sbn_settings *settings, int rank)
{
    if (rank == 1)
        settings->words[SBN_SETTING_ORDER] = SBN_ORDER_VERSION + 1;
    settings->digest ^= rank == 1;
}

/* Two faulty ranks: another setting each, the same one alike, and apart. */
static void two(sbn_batchnorm_config *config, int rank)
{
    config->eps = rank == 1 ? 1e-3 : 1e-5;
    config->momentum = rank == 3 ? 0.2 : 0.1;
}

static void two_alike(sbn_batchnorm_config *config, int rank)
{
    config->momentum = rank == 1 || rank == 2 ? 0.2 : 0.1;
}

static void two_apart(sbn_batchnorm_config *config, int rank)
{
    config->momentum = rank == 1 ? 0.3 : rank == 3 ? 0.2 : 0.1;
}

#define CALL "the ranks disagree: all ranks called forward of layer \"odd\" with 3 channels|"

static const fault faults[] = {
    {CALL "channels (eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3, 4)", eps, NULL, 0},
    {CALL "channels (eps_mode SBN_EPS_CLAMP on rank 1, SBN_EPS_ADD on ranks 0, 2, 3, 4)", eps_mode,
     NULL, 0},
    {CALL "channels (momentum 0.01 on rank 1, 0.1 on ranks 0, 2, 3, 4)", momentum, NULL, 0},
    {CALL "channels (average SBN_AVERAGE_CUMULATIVE on rank 1, SBN_AVERAGE_MOMENTUM on ranks 0, 2, "
          "3, 4)",
     average, NULL, 0},
    {CALL "channels (affine 0 on rank 1, 1 on ranks 0, 2, 3, 4)", affine, NULL, 0},
    {CALL "channels (track_running_stats 0 on rank 1, 1 on ranks 0, 2, 3, 4)", tracking, NULL, 0},
    {CALL "channels (type SBN_BF16 on rank 1, SBN_F16 on rank 3, SBN_F32 on ranks 0, 2, 4)", type,
     NULL, 0},
    {CALL
     "channels (activation SBN_LEAKY_RELU on rank 1, SBN_RELU on rank 3, SBN_IDENTITY on ranks "
     "0, 2, 4)",
     activation, NULL, 0},
    {CALL "channels (slope 0.2 on rank 1, 0.01 on ranks 0, 2, 3, 4)", slope, NULL, 0},
    {CALL "channels (residual 1 on rank 1, 0 on ranks 0, 2, 3, 4)", NULL, residual, 0},
    {CALL "channels (from_output 0 on rank 1, 1 on ranks 0, 2, 3, 4)", from_output, NULL, 0},
    {CALL "channels (order version 4 on rank 1, 3 on ranks 0, 2, 3, 4)", NULL, order, 0},
    {CALL "channels (flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2, 3, 4)", NULL, NULL,
     SBN_KEEP_RUNNING_STATS},
    {CALL "channels (eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3, 4; |"
          "momentum 0.2 on rank 3, 0.1 on ranks 0, 1, 2, 4)",
     two, NULL, 0},
    {CALL "channels (momentum 0.2 on ranks 1, 2, 0.1 on ranks 0, 3, 4)", two_alike, NULL, 0},
    {CALL "channels (momentum 0.3 on rank 1, 0.2 on rank 3, 0.1 on ranks 0, 2, 4)", two_apart, NULL,
     0},
    {CALL
     "channels (flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2, 3, 4; |"
     "eps 0.001 on rank 1|momentum 0.2 on rank 3|order version 4 on rank 1, 3 on ranks 0, 2, 3, 4)",
     two, order, SBN_KEEP_RUNNING_STATS},
};

static void check(test_ranks *all, const fault *f)
{
    provoked = f;
    ranks_reset(all);
    const uint64_t before = ranks_state(all);
    ranks_do(all, forward_odd);
    for (int rank = 0; rank < all->count; ++rank)
        rank_expect(&all->of[rank], SBN_DISAGREEMENT, f->words, "other settings");
    const long left = ranks_leave(all, forward_odd);
    tap_ok(ranks_state(all) == before && left == 0, "nothing has changed, %ld handles left", left);
}

static void checks(void)
{
    const size_t replicas[] = {1, 1, 1, 1, 0}, samples[] = {2, 3, 1, 2};
    test_ranks all;
    ranks_open(&all, &device, 5, replicas, samples, NULL);
    ranks_do(&all, rank_train);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; ++i)
        check(&all, &faults[i]);
    ranks_do(&all, rank_train);
    for (int rank = 0; rank < all.count; ++rank)
        rank_expect(&all.of[rank], SBN_SUCCESS, "", "the groups work again");
    ranks_close(&all);
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
