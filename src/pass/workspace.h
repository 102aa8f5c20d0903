/*
 * Working memory of steps 1 and 2: for each replica the accumulators of a chunk of channels, on the
 * device and on the host, kept from pass to pass.
 */
#ifndef SBN_PASS_WORKSPACE_H
#define SBN_PASS_WORKSPACE_H

#include "device/shape.h"
#include "device/staging.h"

/* What a reduction has left: in the place of the partial ones of a format, or added up. */
typedef struct sbn_reduced {
    cl_mem mem;
    cl_uint slices; /* 0: none */
} sbn_reduced;

/* Of one replica. */
typedef struct sbn_work {
    sbn_device_buffer partial, accumulators; /* of each slice; of all of them */
    sbn_staging on_host;                     /* a copy of them, where the host combines */
    sbn_device_buffer repeat;                /* where devices combine: a byte a channel */
    sbn_reduced reduced;
    cl_mem repeats; /* which channels a wide reduction is for; NULL: all */
    cl_event last;  /* the last command that uses any of these */
    cl_event next;  /* takes its place when all replicas have enqueued theirs */
} sbn_work;

/* Channels that are reduced, combined and applied together: all of the layer's, or some. */
typedef struct sbn_chunk {
    size_t first, channels;
    sbn_shape *shapes; /* per replica */
    sbn_work *work;    /* per replica */
} sbn_chunk;

int sbn__chunk_open(sbn_chunk *chunk, size_t replicas);
void sbn__chunk_close(sbn_chunk *chunk, size_t replicas);

/* Every replica's next command becomes its last one. */
void sbn__chunk_step(sbn_chunk *chunk, size_t replicas);

/* Blocks until the commands that use its memory are over, or have failed. */
void sbn__chunk_wait(const sbn_chunk *chunk, size_t replicas);

/* The same; then the memory is free for another pass. */
void sbn__chunk_clear(sbn_chunk *chunk, size_t replicas);

#endif
