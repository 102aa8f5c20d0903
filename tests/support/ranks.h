/*
 * Members of a group that meet over a transport, each with its group, two
 * layers and its share of a batch. A program that links members_threads.c has
 * them all in one process, each run by a thread of its own, with a hub between
 * them. With members_mpi.c each rank of an MPI job has one member, runs the
 * same program and learns what became of the others; ranks beyond the members
 * look on.
 */
#ifndef TESTS_SUPPORT_RANKS_H
#define TESTS_SUPPORT_RANKS_H

#include "base/opencl.h"
#include "support/fixture.h"

enum { MEMBERS_MAX = 16, MEMBER_REPLICAS = 8, MEMBER_CHANNELS = 3, MEMBER_PLANE = 33 };

typedef struct member {
    int rank;
    size_t replicas;
    cl_command_queue queue;
    slice slices[MEMBER_REPLICAS];
    sbn_shard shards[MEMBER_REPLICAS];
    sbn_group *group;
    sbn_batchnorm *layer, *second;
    sbn_saved *saved, *second_saved;
    /* What the member's last work came to. */
    int status;
    char sentence[512];
    sbn_result result;
    uint64_t digest; /* of whatever the work looked at */
} member;

typedef struct members {
    int count;
    struct meeting_place *place;
    member of[MEMBERS_MAX];
} members;

/* First and last in main: the latter gets, and returns, the program's result. */
void members_begin(int *argc, char ***argv);
int members_end(int result);

/* How many members there may be: the ranks of the job, or MEMBERS_MAX threads. */
int members_most(void);

/*
 * Members with replicas[rank] replicas each; samples has a number for every
 * replica in order. A single member has no transport. `config` gives timeouts;
 * NULL: the default.
 */
void members_open(members *all, const fixture *f, int count, const size_t *replicas,
                  const size_t *samples, const sbn_group_config *config);
void members_close(members *all);

/* Every member does `work` in its own thread, or rank, to the end. */
void members_do(members *all, int (*work)(member *m));

/*
 * Handles of this process that `work` leaves open each time it is done. The
 * hub may keep another block when members run apart as never before: that is
 * no leak, and does not come back.
 */
long members_leave(members *all, int (*work)(member *m));

/* The part of what members do which differs: runs the members that are here. */
void members_run(members *all, int (*work)(member *m));

/* Is the member in this process? Only then it has a group. */
int member_is_here(const member *m);

/* What member `rank`'s process holds in `data` comes to all others. */
void members_share(int rank, void *data, size_t size);

/* Where members meet, and the way there; NULL for a single member. */
struct meeting_place *place_open(int count);
void place_transport(struct meeting_place *place, int rank, sbn_transport *transport);
void place_close(struct meeting_place *place);

/* Fills the status and the sentence of a member, in its thread; returns the status. */
int member_says(member *m, int status);

/* Usual work: forward, or forward and backward with the group's gradients, all with m->saved. */
int member_forward(member *m);
int member_train(member *m);

/* Digests of the whole batch's y, dx, and every member's statistics and gradients. */
uint64_t members_digest(members *all);

/* Outputs to the pattern; a digest of all that a refused pass must leave alone. */
void members_reset(members *all);
uint64_t members_state(members *all);

/* One check: status and words of one rank's sentence. */
void member_expect(const member *m, int status, const char *words, const char *what);

#endif
