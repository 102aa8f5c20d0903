/*
 * A table of a few floats per channel, on the host and on every replica's device: saved statistics, running
 * statistics for evaluation, sums of gradients. Commands on a replica's copy are chained, each waiting for the one
 * before, so that queues of any kind neither overwrite what is still read nor read what is not yet written.
 */
#pragma once

#include "device/staging.h"

/* On a replica's device. */
typedef struct sbn_channel_copy {
    sbn_device_buffer buffer;
    cl_event written; /* the last write, while which host must stay */
    cl_event last;    /* the last command that touched it */
    int fresh; /* of running statistics: it is as the host copy, and a command that reads it is enqueued */
} sbn_channel_copy;

typedef struct sbn_channel_table {
    size_t replicas;
    size_t rows, channels;    /* of a copy: one row after the other */
    int shared;               /* one host copy serves all replicas */
    sbn_staging *host;        /* per copy: the first replica's, or each one's */
    sbn_channel_copy *copies; /* per replica */
} sbn_channel_table;

int sbn__channel_table_create(sbn_channel_table *table, sbn_replica *replicas, size_t count,
                              size_t rows, size_t channels, int shared);
void sbn__channel_table_destroy(sbn_channel_table *table);

/* Waits for what still uses a replica's copies. How that has ended does not matter any more. */
void sbn__channel_table_leave(sbn_channel_table *table, size_t replica);

/* The host copy of a replica. There is none where there are no replicas. */
float *sbn__channel_table_rows(const sbn_channel_table *table, size_t replica);

/* Waits for all writes still under way: the copies on the host are then free to be overwritten, also after an error. */
int sbn__channel_table_await(sbn_channel_table *table);

/* Enqueues the copy of a replica's host copy to its device. */
int sbn__channel_table_write(sbn_channel_table *table, sbn_replica *replica);

/*
 * Adds to `wait` what a command that reads the device's copy must wait for on a queue without order: the last
 * command, unless it has failed (for instance by an event of the caller's list) and is over. A copy whose write
 * failed is an error. Once enqueued, the command becomes the last one; if that fails, it has been waited for.
 */
int sbn__channel_table_wait(sbn_channel_table *table, const sbn_replica *replica, sbn_wait *wait);
int sbn__channel_table_touched(sbn_channel_table *table, const sbn_replica *replica,
                               cl_event event);

/* Do the same for a command of the device that writes the copy. */
int sbn__channel_table_wait_to_write(sbn_channel_table *table, const sbn_replica *replica,
                                     sbn_wait *wait);
int sbn__channel_table_wrote(sbn_channel_table *table, const sbn_replica *replica, cl_event event);
