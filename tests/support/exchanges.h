/* Tensors for exchanges between ranks: odd sizes, offsets, values by the replica's number, and patterns around them. */
#pragma once

#include "support/ranks.h"

enum { TENSORS = 7 };

/* Sizes of the tensors; one is empty, some end within a block. */
extern const size_t exchange_counts[TENSORS];
enum { EXCHANGE_FLOATS = 1 + 3000 + 1024 + 5 + 2049 + 70 };

typedef struct exchange_tensors {
    size_t replicas;
    cl_mem mem[RANK_REPLICAS];
    sbn_buffer buffers[RANK_REPLICAS][TENSORS];
    sbn_tensors of[RANK_REPLICAS];
    cl_event events[RANK_REPLICAS];
    cl_command_queue queue;
} exchange_tensors;

/* Element i of a replica's tensors, counted over all of them. */
float exchange_value(size_t replica, size_t i);

/* All of one rank's tensors in one buffer per replica, filled for replicas from `first` on, without events. */
void tensors_open(exchange_tensors *t, const test_rank *m);
void tensors_fill(exchange_tensors *t, size_t first);
void tensors_close(exchange_tensors *t);

/*
 * A digest of the replicas' elements, which must be the same on all of them and surrounded by
 * patterns; 0 where they are not. `to` (or NULL) receives the elements of the first.
 */
uint64_t tensors_digest(const exchange_tensors *t, float *to);

/* A digest of all that their buffers hold, patterns too. */
uint64_t tensors_state(const exchange_tensors *t);

/* One check: all ranks ended well and with one digest, which is returned, or 0. */
uint64_t exchanges_digest(const test_ranks *all, const char *what);

/*
 * Work of a rank: its tensors and a handle for exchanges of them, made and ended. What an exchange that
 * does not end leaves to the transport is no leak.
 */
extern exchange_tensors exchange_of[RANKS_MAX];
extern sbn_data_parallel *exchange_joined[RANKS_MAX];
extern size_t exchange_bucket_bytes; /* of the handle */
int exchange_join(test_rank *m);
int exchange_average(test_rank *m); /* in between */
int exchange_leave(test_rank *m);
