/*
 * The ranks of a group, each with its group, two layers and its shard of a batch. With ranks_threads.c, which
 * programs link unless they ask for more, all ranks are in one process, a thread for each and a hub between them.
 * With ranks_mpi.c each process of an MPI job is one rank: all run the same program and learn the results of the
 * others; processes beyond the number of ranks look on.
 */
#pragma once

#include "support/fixture.h"

enum { RANKS_MAX = 16, RANK_REPLICAS = 8, RANK_CHANNELS = 3, RANK_PLANE = 33 };

typedef struct test_rank {
    int rank;
    size_t replicas;
    cl_command_queue queue;
    slice slices[RANK_REPLICAS];
    sbn_shard shards[RANK_REPLICAS];
    sbn_group *group;
    sbn_batchnorm *layer, *second;
    sbn_saved *saved, *second_saved;
    /* The results of the rank's last work. */
    int status;
    char sentence[512];
    sbn_result result;
    uint64_t digest; /* of whatever the work looked at */
} test_rank;

typedef struct test_ranks {
    int count;
    void *transports;
    test_rank of[RANKS_MAX];
} test_ranks;

/*
 * Ranks with replicas[rank] replicas each; samples has a number for every replica in order. NULL: of one replica
 * each, and of 3 and 2 samples in turn. A single rank has no transport. `config` gives timeouts; NULL: the default.
 */
void ranks_open(test_ranks *all, const fixture *f, int count, const size_t *replicas,
                const size_t *samples, const sbn_group_config *config);
void ranks_close(test_ranks *all);

/* The same, of ranks that wait so long for each other. */
void ranks_open_waits(test_ranks *all, const fixture *f, int count, const size_t *replicas,
                      double timeout, sbn_timeout_action action);

/* Every rank does `work` in its own thread, or process, to the end. */
void ranks_do(test_ranks *all, int (*work)(test_rank *m));

/* The same of those that have a bit in `who`, without the others; what waits in vain is no leak. */
void ranks_do_some(test_ranks *all, unsigned who, int (*work)(test_rank *m));

/* Runs `work` for the ranks of this process. */
void ranks_run(test_ranks *all, int (*work)(test_rank *m));

/* Is the rank in this process? Only then it has a group. */
int rank_is_here(const test_rank *m);

/* Copies `data` of the process of rank `rank` to all others. */
void ranks_broadcast(int rank, void *data, size_t size);

/* The transports between the ranks; NULL for a single rank. */
void *transports_open(int count);
void transports_get(void *transports, int rank, sbn_transport *transport);
void transports_close(void *transports);

/* Fills the status and the sentence of a rank, in its thread; returns the status. */
int rank_says(test_rank *m, int status);

/* Usual work: forward, or forward and backward with the group's gradients, all with m->saved. */
int rank_forward(test_rank *m);
int rank_forward_twice(test_rank *m); /* the second layer, too: that ends first, and alike */
int rank_train(test_rank *m);

/* Digests of the whole batch's y, dx, and every rank's statistics and gradients. */
uint64_t ranks_digest(test_ranks *all);

/* Checks that ranks, which are there for this alone, all do the work; their digest. */
uint64_t ranks_digest_of(const fixture *f, int count, const size_t *replicas, const size_t *samples,
                         int (*work)(test_rank *m), const char *what);

/*
 * Makes one rank of two replicas do `work`, and two ranks of one: checks that all succeed, and that the
 * digests, ranks_digest and each rank's own, are the same.
 */
void ranks_same_bits(const fixture *f, int (*work)(test_rank *m), const char *what);

/* Outputs to the pattern; a digest of all that a refused pass must leave alone. */
void rank_reset(test_rank *m);
uint64_t rank_state(test_rank *m);

/* One check: status and words of one rank's sentence. */
void rank_expect(const test_rank *m, int status, const char *words, const char *what);
