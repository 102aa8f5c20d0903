/*
 * Groups split by colour over replicas and ranks: subgroups of several ranks and of one, all in use at once, each with
 * the statistics of its own samples; and ranks that disagree about a split. Layers that move: tests/model/model.c.
 */
#include "group/group.h"
#include "support/main.h"
#include "support/refused_ranks.h"
#include "support/stalls.h"

enum { RANKS = 4, MOST_PARTS = 3 };

/* Replicas of each rank and samples of each replica, in order: 5 replicas, 16 samples. */
static const size_t replicas[RANKS] = {2, 1, 0, 2}, samples[] = {3, 1, 4, 2, 6};

/* One subgroup's layer and what belongs to it, on one rank. */
typedef struct section {
    life l;
    sbn_shard shards[RANK_REPLICAS];
    sbn_pass *pass;
} section;

/* The colours of the split under test, of all replicas. */
static const int *colours_of_all;

static const int *colours_of(const test_rank *m)
{
    const int *own = colours_of_all;
    for (int rank = 0; rank < m->rank; ++rank)
        own += replicas[rank];
    return m->replicas > 0 ? own : NULL;
}

/* The whole batch in one process, and which subgroup is wanted. */
static test_ranks alone;
static int colour_alone;

static int train_alone(test_rank *m)
{
    sbn_shard some[RANK_REPLICAS];
    const life s = LIVE_WITH(m->group, .channels = RANK_CHANNELS);
    for (size_t r = 0; r < m->replicas; ++r) {
        some[r] = m->shards[r];
        some[r].shape[0] *= colours_of_all[r] == colour_alone;
    }
    must(sbn_forward(s.layer, some, s.saved, 0, NULL), "sbn_forward");
    m->digest = digest_layer(SBN_DIGEST_START, s.layer, s.saved);
    fixture_end(s.layer, s.saved);
    return SBN_SUCCESS;
}

/* The subgroups of this rank, and each subgroup's shards. Returns their number. */
static size_t gather_sections(const test_rank *m, sbn_group *const *subgroups, section *sections)
{
    size_t count = 0;
    for (size_t r = 0; r < m->replicas; ++r) {
        size_t i = 0;
        if (!subgroups[r])
            continue;
        while (i < count && sections[i].l.group != subgroups[r])
            ++i;
        if (i == count)
            sections[count++].l = LIVE_WITH(subgroups[r], .channels = RANK_CHANNELS);
        section *s = &sections[i];
        size_t at = 0;
        while (at < RANK_REPLICAS && s->shards[at].dims)
            ++at;
        s->shards[at] = m->shards[r];
    }
    return count;
}

/*
 * All subgroups and the whole are under way together, and end in another order than they began. m->digest becomes the
 * sum of the digests of the subgroups in which this rank comes first, so that the sum over ranks counts each once.
 */
static int use_subgroups(test_rank *m)
{
    sbn_group *subgroups[RANK_REPLICAS];
    section sections[MOST_PARTS] = {{.pass = NULL}};
    sbn_pass *whole;
    m->digest = 0;
    if (rank_says(m, sbn_group_split(m->group, colours_of(m), subgroups)))
        return m->status;
    const size_t count = gather_sections(m, subgroups, sections);
    for (size_t i = 0; i < count; ++i)
        must(sbn_forward_begin(sections[i].l.layer, sections[i].shards, sections[i].l.saved, 0,
                               &sections[i].pass),
             "a subgroup's pass");
    must(sbn_forward_begin(m->layer, m->shards, m->saved, 0, &whole), "the whole's pass");
    for (size_t i = count; i-- > 0;)
        must(sbn_pass_end(sections[i].pass, NULL), "the end of a subgroup's pass");
    must(sbn_pass_end(whole, NULL), "the end of the whole's pass");
    for (size_t i = 0; i < count; ++i) {
        must(sections[i].l.group->communicator.names ? SBN_INVALID_ARGUMENT : SBN_SUCCESS,
             "sentences of a subgroup name its own ranks");
        if (sbn_group_rank(sections[i].l.group) == 0)
            m->digest += digest_layer(SBN_DIGEST_START, sections[i].l.layer, sections[i].l.saved);
        fixture_end(sections[i].l.layer, sections[i].l.saved);
    }
    /* Every replica has a handle of its own. */
    for (size_t r = 0; r < m->replicas; ++r)
        sbn_group_destroy(subgroups[r]);
    return SBN_SUCCESS;
}

static void check_colours(test_ranks *all, const int *colours, int count, const char *what)
{
    uint64_t expected = 0, came = 0;
    int good = 1;
    colours_of_all = colours;
    for (colour_alone = 0; colour_alone < count; ++colour_alone) {
        ranks_do(&alone, train_alone);
        expected += alone.of[0].digest;
    }
    for (int i = 0; i < 2; ++i) {
        ranks_do(all, use_subgroups);
        came = 0;
        for (int rank = 0; rank < RANKS; ++rank) {
            good = good && all->of[rank].status == SBN_SUCCESS;
            came += all->of[rank].digest;
        }
    }
    tap_ok(good, "%s: %s %s", what, sbn_strerror(all->of[0].status), all->of[0].sentence);
    tap_ok(came == expected, "%s: each subgroup has the statistics of its own samples", what);
}

static const int across[] = {0, 1, 0, 1, 1}, one[] = {0, 0, 0, 0, 0};

static void check_subgroups(test_ranks *all)
{
    const int inside[] = {0, 0, 1, 2, 2}, ring[] = {0, 1, 1, 0, 2};
    const int single[] = {SBN_NO_COLOUR, SBN_NO_COLOUR, 0, SBN_NO_COLOUR, SBN_NO_COLOUR};
    const int some[] = {0, SBN_NO_COLOUR, SBN_NO_COLOUR, 0, SBN_NO_COLOUR};
    check_colours(all, across, 2, "subgroups that cross ranks");
    check_colours(all, inside, 3, "subgroups inside a rank");
    check_colours(all, ring, 3, "subgroups that share ranks");
    check_colours(all, some, 1, "replicas without a subgroup");
    check_colours(all, single, 1, "one subgroup of one replica");
    check_colours(all, one, 1, "one subgroup for all");
}

/* --- ranks that disagree ----------------------------------------------------------------- */

static const int wrong_colour[] = {-7};

typedef struct arguments {
    const int *colours;
    int forward; /* instead of a split */
    int no_split;
} arguments;

static void right(test_rank *m, void *of)
{
    *(arguments *)of = (arguments){.colours = colours_of(m)};
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    sbn_group *subgroups[RANK_REPLICAS];
    sbn_transport *transport = &m->group->communicator.transport, own = *transport;
    transport->split = a->no_split ? NULL : own.split;
    const int status = a->forward ? rank_forward(m)
                                  : rank_says(m, sbn_group_split(m->group, a->colours, subgroups));
    *transport = own;
    return status;
}

#define REPORTED .heard = "rank 1 called sbn_group_split and reported SBN_INVALID_ARGUMENT"

static const refusal rows[] = {
    ROW(colours, wrong_colour, "colours|got -7 for replica 0", REPORTED),
    ROW(colours, NULL, "colours|got NULL", REPORTED),
    ROW(no_split, 1, "group: its transport cannot be split", REPORTED),
    ROW(forward, 1,
        "rank 1 called forward |\"first\" with 3 channels; ranks 0, 2, 3 called sbn_group_split",
        .status = SBN_DISAGREEMENT),
};

static void check_disagreements(test_ranks *all)
{
    static const ranks_call split = {sizeof(arguments), right,      call,
                                     rank_reset,        rank_state, use_subgroups};
    colours_of_all = across;
    RANKS_REFUSE(all, &split, rows);
    check_colours(all, across, 2, "after disagreements");
}

/* --- a rank that hears late ---------------------------------------------------------------- */

static int (*transport_test)(void *context, void *request, int *done);

static int test_late(void *context, void *request, int *done)
{
    pause_for(0.01);
    return transport_test(context, request, done);
}

/*
 * In a transport's first split, rank 0 hears that all agree when others may connect already: over Open MPI it took a
 * message of theirs, which has the number of the split, and all waited for ever.
 */
static int split_late(test_rank *m)
{
    sbn_group *subgroups[RANK_REPLICAS];
    sbn_transport *transport = &m->group->communicator.transport, own = *transport;
    if (m->rank == 0) {
        transport_test = own.test;
        transport->test = test_late;
    }
    if (!rank_says(m, sbn_group_split(m->group, colours_of(m), subgroups)))
        for (size_t r = 0; r < m->replicas; ++r)
            sbn_group_destroy(subgroups[r]);
    *transport = own;
    return m->status;
}

static void check_late(void)
{
    colours_of_all = one;
    for (int i = 0; i < 8; ++i) {
        test_ranks all;
        ranks_open(&all, &device, RANKS, replicas, samples, NULL);
        ranks_do(&all, split_late);
        ranks_expect(&all, SBN_SUCCESS, "", SBN_SUCCESS, "", "a rank hears late");
        ranks_close(&all);
    }
}

void checks(void)
{
    static const size_t whole[] = {sizeof samples / sizeof *samples};
    test_ranks all;
    ranks_open(&all, &device, RANKS, replicas, samples, NULL);
    ranks_open(&alone, &device, 1, whole, samples, NULL);
    check_subgroups(&all);
    check_disagreements(&all);
    ranks_close(&alone);
    ranks_close(&all);
    check_late();
}
