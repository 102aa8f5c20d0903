/*
 * An existing data-parallel engine, patched in place: it makes each replica's layer in a group of its own,
 * runs a thread per replica, and knows nothing of groups. The patch registers a replica when it has been
 * made: its model moves to a group that meets the others'. The engine's steps are synchronised from then
 * on, and local again when the replicas are moved back.
 */
#include "support/ranks.h"

static fixture device;

static struct {
    sbn_group *alone;
    sbn_model *model;
} engine[RANKS_MAX];

/* The engine's own replication. */
static int replicate(test_rank *m)
{
    cl_command_queue queues[RANK_REPLICAS];
    sbn_parameters parameters[RANK_REPLICAS];
    for (size_t r = 0; r < m->replicas; ++r) {
        queues[r] = m->queue;
        parameters[r] = (sbn_parameters){sizeof *parameters, m->shards[r].weight,
                                         m->shards[r].bias};
    }
    engine[m->rank].alone = fixture_rank(queues, m->replicas, NULL);
    must(sbn_batchnorm_set_group(m->layer, engine[m->rank].alone), "sbn_batchnorm_set_group");
    must(sbn_model_create(&engine[m->rank].model), "sbn_model_create");
    must(sbn_model_add(engine[m->rank].model, "norm", m->layer, parameters), "sbn_model_add");
    return SBN_SUCCESS;
}

static int drop(test_rank *m)
{
    must(sbn_model_destroy(engine[m->rank].model), "sbn_model_destroy");
    must(sbn_batchnorm_set_group(m->layer, m->group), "sbn_batchnorm_set_group");
    must(sbn_group_destroy(engine[m->rank].alone), "sbn_group_destroy");
    return SBN_SUCCESS;
}

/* The patch, and its end. */
static int register_replica(test_rank *m)
{
    return rank_says(m, sbn_model_set_group(engine[m->rank].model, m->group, NULL, NULL));
}

static int move_back(test_rank *m)
{
    return rank_says(m,
                     sbn_model_set_group(engine[m->rank].model, engine[m->rank].alone, NULL, NULL));
}

static int patched(test_rank *m)
{
    replicate(m);
    must(register_replica(m), "a replica registers");
    rank_train(m);
    const int status = rank_train(m);
    drop(m);
    return status;
}

/* Each rank makes `change` and a step, in which so many values take part. */
static void check_step(test_ranks *all, int (*change)(test_rank *m), const uint64_t values[2],
                       const char *what)
{
    ranks_do(all, change);
    ranks_do(all, rank_train);
    for (int rank = 0; rank < 2; ++rank) {
        const test_rank *m = &all->of[rank];
        tap_ok(m->status == SBN_SUCCESS && m->result.count == values[rank],
               "%s: replica %d: a step of %d values, expected %d: %s", what, rank,
               (int)m->result.count, (int)values[rank], m->sentence);
    }
}

static void checks(void)
{
    const size_t ones[] = {1, 1}, samples[] = {1, 3};
    const uint64_t own[] = {RANK_PLANE, 3 * RANK_PLANE};
    const uint64_t together[] = {4 * RANK_PLANE, 4 * RANK_PLANE};
    test_ranks all;
    ranks_open(&all, &device, 2, ones, samples, NULL);
    check_step(&all, replicate, own, "as it was");
    check_step(&all, register_replica, together, "patched");
    check_step(&all, move_back, own, "moved back");
    ranks_do(&all, drop);
    ranks_close(&all);
    ranks_same_bits(&device, patched, "patched");
}

int main(void)
{
    return fixture_main(&device, NULL, checks);
}
