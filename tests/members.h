/*
 * Threaded groups: members of one hub, each with its group, two layers and
 * its share of a batch, run by a thread of its own where they meet.
 */
#ifndef SYNCBN_TESTS_MEMBERS_H
#define SYNCBN_TESTS_MEMBERS_H

#include "fixture.h"

enum { MEMBERS_MAX = 16, MEMBER_REPLICAS = 8, MEMBER_CHANNELS = 3, MEMBER_PLANE = 33 };

typedef struct member {
    int rank;
    size_t replicas;
    cl_command_queue queue;
    slice slices[MEMBER_REPLICAS];
    sbn_share shares[MEMBER_REPLICAS];
    sbn_group *group;
    sbn_batchnorm *layer, *second;
    sbn_saved *saved, *second_saved;
    /* What the member's last work came to. */
    int status;
    char sentence[512];
    sbn_result result;
} member;

typedef struct members {
    int count;
    sbn_hub *hub;
    member of[MEMBERS_MAX];
} members;

/*
 * Members with replicas[rank] replicas each; samples has a number for every
 * replica in order. A single member has no transport. `config` gives timeouts;
 * NULL: the default.
 */
void members_open(members *all, const fixture *f, int count, const size_t *replicas,
                  const size_t *samples, const sbn_group_config *config);
void members_close(members *all);

/* Every member does `work` in its own thread, to the end. */
void members_do(members *all, int (*work)(member *m));

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
