/*
 * Ranks that disagree in a layer's settings, or a call's, and a weight that one rank's layer
 * refuses: each of them is told which it is, and who has which value. Nothing has changed then, and
 * the groups go on.
 */
#include "layer/batchnorm.h"
#include "support/refused_ranks.h"

static fixture device;

typedef struct arguments {
    sbn_batchnorm_config config;
    int order, residual; /* as another build would make the settings; the shards have no residual */
    unsigned flags;
    float weight; /* of channel 1 */
} arguments;

static void right(test_rank *m, void *of)
{
    arguments *a = of;
    (void)m;
    *a = (arguments){.config = SBN_BATCHNORM_CONFIG_INIT,
                     .order = SBN_ORDER_VERSION,
                     .weight = 1.0f};
    a->config.name = "odd";
    a->config.channels = RANK_CHANNELS;
}

static void put_weight(const test_rank *m, float weight)
{
    for (size_t r = 0; r < m->replicas; ++r) {
        sbn_buffer to = m->shards[r].weight;
        ++to.offset;
        buffer_fill(&m->slices[r], &to, 1, weight);
    }
}

/* Forward of a layer with these settings. */
static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    sbn_batchnorm *layer;
    must(sbn_batchnorm_create(m->group, &a->config, &layer), "sbn_batchnorm_create");
    sbn_settings *settings = &layer->settings;
    settings->digest ^= a->order != SBN_ORDER_VERSION || a->residual;
    settings->words[SBN_SETTING_ORDER] = a->order;
    settings->words[SBN_SETTING_RESIDUAL] = a->residual;
    sbn_saved *saved = fixture_saved(layer);
    put_weight(m, a->weight);
    rank_says(m, sbn_forward(layer, m->shards, saved, a->flags, NULL));
    put_weight(m, 1.0f);
    fixture_end(layer, saved);
    return m->status;
}

#define SET(field, value, words) \
    ROW(field, value, \
        "the ranks disagree: all ranks called forward of layer \"odd\" with 3 channels|channels " \
        "(" words ")", \
        .status = SBN_DISAGREEMENT)
/* Before a row of rank 1: other ranks have another value, too. */
#define TOO(field, value, ranks) ROW(field, value, NULL, .odd = ranks)
#define ON(rank) (1u << (rank))

static const refusal rows[] = {
    SET(config.eps, 1e-3, "eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3, 4"),
    SET(config.eps_mode, SBN_EPS_CLAMP,
        "eps_mode SBN_EPS_CLAMP on rank 1, SBN_EPS_ADD on ranks 0, 2, 3, 4"),
    SET(config.momentum, 0.01, "momentum 0.01 on rank 1, 0.1 on ranks 0, 2, 3, 4"),
    SET(config.average, SBN_AVERAGE_CUMULATIVE,
        "average SBN_AVERAGE_CUMULATIVE on rank 1, SBN_AVERAGE_MOMENTUM on ranks 0, 2, 3, 4"),
    SET(config.affine, 0, "affine 0 on rank 1, 1 on ranks 0, 2, 3, 4"),
    SET(config.track_running_stats, 0, "track_running_stats 0 on rank 1, 1 on ranks 0, 2, 3, 4"),
    TOO(config.type, SBN_F16, ON(3)),
    SET(config.type, SBN_BF16,
        "type SBN_BF16 on rank 1, SBN_F16 on rank 3, SBN_F32 on ranks 0, 2, 4"),
    TOO(config.activation, SBN_RELU, ON(3)),
    SET(config.activation, SBN_LEAKY_RELU,
        "activation SBN_LEAKY_RELU on rank 1, SBN_RELU on rank 3, SBN_IDENTITY on ranks 0, 2, 4"),
    SET(config.slope, 0.2, "slope 0.2 on rank 1, 0.01 on ranks 0, 2, 3, 4"),
    SET(residual, 1, "residual 1 on rank 1, 0 on ranks 0, 2, 3, 4"),
    SET(config.from_output, 1, "from_output 1 on rank 1, 0 on ranks 0, 2, 3, 4"),
    SET(order, 4, "order version 4 on rank 1, 3 on ranks 0, 2, 3, 4"),
    SET(flags, SBN_KEEP_RUNNING_STATS,
        "flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2, 3, 4"),
    TOO(config.momentum, 0.2, ON(3)),
    SET(config.eps, 1e-3,
        "eps 0.001 on rank 1, 1e-05 on ranks 0, 2, 3, 4; |momentum 0.2 on rank 3, 0.1 on ranks 0, "
        "1, 2, 4"),
    TOO(config.momentum, 0.2, ON(2)),
    SET(config.momentum, 0.2, "momentum 0.2 on ranks 1, 2, 0.1 on ranks 0, 3, 4"),
    TOO(config.momentum, 0.2, ON(3)),
    SET(config.momentum, 0.3, "momentum 0.3 on rank 1, 0.2 on rank 3, 0.1 on ranks 0, 2, 4"),
    TOO(config.momentum, 0.2, ON(3)),
    TOO(config.eps, 1e-3, ON(1)),
    TOO(order, 4, ON(1)),
    SET(flags, SBN_KEEP_RUNNING_STATS,
        "flags SBN_KEEP_RUNNING_STATS on rank 1, 0 on ranks 0, 2, 3, 4; |eps 0.001 on rank "
        "1|momentum 0.2 on rank 3|order version 4 on rank 1, 3 on ranks 0, 2, 3, 4"),
    TOO(config.from_output, 1, ALL_RANKS),
    ROW(weight, 1e-9f, "layer \"odd\", rank 1, replica 0: weight: |in channel 1",
        .heard = "rank 1 called forward of layer \"odd\"|SBN_INVALID_ARGUMENT"),
};

static void checks(void)
{
    static const ranks_call forward = {sizeof(arguments), right,      call,
                                       rank_reset,        rank_state, rank_train};
    const size_t replicas[] = {1, 1, 1, 1, 0}, samples[] = {2, 3, 1, 2};
    test_ranks all;
    ranks_open(&all, &device, 5, replicas, samples, NULL);
    ranks_do(&all, rank_train);
    RANKS_REFUSE(&all, &forward, rows);
    ranks_close(&all);
}

int main(int argc, char **argv)
{
    return ranks_main(argc, argv, &device, checks);
}
