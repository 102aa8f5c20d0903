/*
 * Groups split by colour over replicas and ranks: subgroups of several ranks and of one, all in use
 * at once, each with the statistics of its own samples; a layer that moves to a subgroup and back;
 * and ranks that disagree about a split.
 */
#include "support/main.h"
#include "support/refused_ranks.h"

enum { RANKS = 4, MOST_PARTS = 3 };

/* Replicas of each rank and samples of each replica, in order: 5 replicas, 16 samples. */
static const size_t replicas[RANKS] = {2, 1, 0, 2}, samples[] = {3, 1, 4, 2, 6};

/* One subgroup's layer and what belongs to it, on one rank. */
typedef struct section {
    life l;
    sbn_shard shards[RANK_REPLICAS];
    sbn_pass *pass;
} section;

static life live_in(sbn_group *group)
{
    return LIVE_WITH(group, .channels = RANK_CHANNELS);
}

/* Every replica has a handle of its own to destroy. */
static void destroy_parts(const test_rank *m, sbn_group *const *parts)
{
    for (size_t r = 0; r < m->replicas; ++r)
        sbn_group_destroy(parts[r]);
}

/* The colours of the split under test, of all replicas. */
static const int *colours_of_all;

static const int *colours_of(const test_rank *m)
{
    const int *own = colours_of_all;
    for (int rank = 0; rank < m->rank; ++rank)
        own += replicas[rank];
    return own;
}

/* The whole batch in one process, with another group of as many replicas. */
static test_ranks alone;
static sbn_group *other;

/* A subgroup's layer: one that moves there has trained on the whole before. */
static int colour_alone, moves_alone;

static int train_alone(test_rank *m)
{
    sbn_shard some[RANK_REPLICAS];
    const life s = live_in(m->group);
    for (size_t r = 0; r < m->replicas; ++r) {
        some[r] = m->shards[r];
        some[r].shape[0] *= colours_of_all[r] == colour_alone;
    }
    if (moves_alone) {
        must(sbn_forward(s.layer, m->shards, s.saved, 0, NULL), "sbn_forward");
        must(sbn_batchnorm_set_group(s.layer, other), "sbn_batchnorm_set_group");
    }
    must(sbn_forward(s.layer, some, s.saved, 0, NULL), "sbn_forward");
    m->digest = digest_layer(SBN_DIGEST_START, s.layer, s.saved);
    fixture_end(s.layer, s.saved);
    return SBN_SUCCESS;
}

static uint64_t expected_of(int colour, int moves)
{
    colour_alone = colour;
    moves_alone = moves;
    ranks_do(&alone, train_alone);
    return alone.of[0].digest;
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
            sections[count++].l = live_in(subgroups[r]);
        section *s = &sections[i];
        size_t at = 0;
        while (at < RANK_REPLICAS && s->shards[at].dims)
            ++at;
        s->shards[at] = m->shards[r];
    }
    return count;
}

/*
 * All subgroups and the whole are under way together, and end in another order
 * than they began. m->digest becomes the sum of the digests of the subgroups in
 * which this rank comes first, so that the sum over ranks counts each once.
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
        if (sbn_group_rank(sections[i].l.group) == 0)
            m->digest += digest_layer(SBN_DIGEST_START, sections[i].l.layer, sections[i].l.saved);
        fixture_end(sections[i].l.layer, sections[i].l.saved);
    }
    destroy_parts(m, subgroups);
    return SBN_SUCCESS;
}

static void check_colours(test_ranks *all, const int *colours, int count, const char *what)
{
    uint64_t expected = 0, came = 0;
    int good = 1;
    colours_of_all = colours;
    for (int colour = 0; colour < count; ++colour)
        expected += expected_of(colour, 0);
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

static void check_subgroups(test_ranks *all)
{
    const int across[] = {0, 1, 0, 1, 1}, inside[] = {0, 0, 1, 2, 2}, ring[] = {0, 1, 1, 0, 2};
    const int some[] = {0, SBN_NO_COLOUR, SBN_NO_COLOUR, 0, SBN_NO_COLOUR}, one[] = {0, 0, 0, 0, 0};
    check_colours(all, across, 2, "subgroups that cross ranks");
    check_colours(all, inside, 3, "subgroups inside a rank");
    check_colours(all, ring, 3, "subgroups that share ranks");
    check_colours(all, some, 1, "replicas without a subgroup");
    check_colours(all, one, 1, "one subgroup for all");
}

/* Trains on the whole, on a subgroup, and on the whole again. */
static int move_layer(test_rank *m)
{
    sbn_group *subgroups[RANK_REPLICAS];
    m->digest = 0;
    if (rank_says(m, sbn_group_split(m->group, colours_of(m), subgroups)))
        return m->status;
    const life s = live_in(m->group);
    must(sbn_forward(s.layer, m->shards, s.saved, 0, NULL), "on the whole");
    if (m->replicas) {
        must(sbn_batchnorm_set_group(s.layer, subgroups[0]), "to a subgroup");
        must(sbn_forward(s.layer, m->shards, s.saved, 0, NULL), "on a subgroup");
        m->digest = digest_layer(SBN_DIGEST_START, s.layer, s.saved);
        must(sbn_batchnorm_set_group(s.layer, m->group), "and back");
    }
    must(sbn_forward(s.layer, m->shards, s.saved, SBN_KEEP_RUNNING_STATS, NULL), "on the whole");
    fixture_end(s.layer, s.saved);
    destroy_parts(m, subgroups);
    return SBN_SUCCESS;
}

static void check_move(test_ranks *all)
{
    static const int halves[] = {0, 0, 0, 1, 1};
    colours_of_all = halves;
    ranks_do(all, move_layer);
    const uint64_t first = expected_of(0, 1), second = expected_of(1, 1);
    for (int rank = 0; rank < RANKS; ++rank) {
        const test_rank *m = &all->of[rank];
        const uint64_t expected = rank < 2 ? first : rank == 3 ? second : 0;
        tap_ok(m->status == SBN_SUCCESS && m->digest == expected,
               "a layer moves to a subgroup and back: rank %d: %s %s", rank,
               sbn_strerror(m->status), m->sentence);
    }
}

/* --- ranks that disagree ----------------------------------------------------------------- */

static const int any_colours[] = {0, 1, 0, 1, 1}, wrong_colour[] = {-7};

typedef struct arguments {
    const int *colours;
    int forward; /* instead of a split */
} arguments;

static void right(test_rank *m, void *of)
{
    *(arguments *)of = (arguments){.colours = colours_of(m)};
}

static int call(test_rank *m, const void *of)
{
    const arguments *a = of;
    sbn_group *subgroups[RANK_REPLICAS];
    return a->forward ? rank_forward(m)
                      : rank_says(m, sbn_group_split(m->group, a->colours, subgroups));
}

#define REPORTED .heard = "rank 1 called sbn_group_split and reported SBN_INVALID_ARGUMENT"

static const refusal rows[] = {
    ROW(colours, wrong_colour, "colours|got -7 for replica 0", REPORTED),
    ROW(colours, NULL, "colours|got NULL", REPORTED),
    ROW(forward, 1, "rank 1 called forward of layer \"first\"|ranks 0, 2, 3 called sbn_group_split",
        .status = SBN_DISAGREEMENT),
};

static void check_disagreements(test_ranks *all)
{
    static const ranks_call split = {sizeof(arguments), right,      call,
                                     rank_reset,        rank_state, use_subgroups};
    colours_of_all = any_colours;
    RANKS_REFUSE(all, &split, rows);
    check_colours(all, any_colours, 2, "after disagreements");
}

void checks(void)
{
    static const size_t whole[] = {sizeof samples / sizeof *samples};
    test_ranks all;
    ranks_open(&all, &device, RANKS, replicas, samples, NULL);
    ranks_open(&alone, &device, 1, whole, samples, NULL);
    if (rank_is_here(&alone.of[0]))
        other = fixture_group(alone.of[0].queue, *whole, SBN_FORM_AUTO);
    check_subgroups(&all);
    check_move(&all);
    check_disagreements(&all);
    sbn_group_destroy(other);
    ranks_close(&alone);
    ranks_close(&all);
}
