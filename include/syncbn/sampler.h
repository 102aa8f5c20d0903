/* Which samples of a data set each replica takes. */
#ifndef SYNCBN_SAMPLER_H
#define SYNCBN_SAMPLER_H

#include <stddef.h>
#include <stdint.h>

#include <syncbn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Which samples a replica takes, in which order: PyTorch's DistributedSampler.
 *
 * The samples, shuffled anew for each epoch or in their order, are dealt out in turn: place p goes
 * to replica p % replicas as its sample number p / replicas. If they do not divide evenly, the
 * order is repeated from its start until they do, or its end is left out (drop_last). So all
 * replicas have the same number of samples. Without repetition no two replicas have a sample in
 * common.
 *
 * The order is computed from seed, epoch and place alone, with integers: it is the same on every
 * machine and needs no memory. (It is not PyTorch's.) You may copy and change the struct at any
 * time: set `epoch` before each epoch.
 */
typedef struct sbn_sampler {
    size_t size;       /* sizeof(sbn_sampler) */
    uint64_t samples;  /* in the whole data set; at most 2^62 */
    uint64_t replicas; /* 1 ... 2^32 */
    uint64_t replica;  /* this one's number, below `replicas` */
    uint64_t seed;     /* the same on all replicas */
    uint64_t epoch;    /* the same on all replicas; another order for each */
    int shuffle;       /* 0: in order */
    int drop_last;     /* 1: leave out what does not divide evenly; 0: repeat from the start */
} sbn_sampler;

/* Shuffled, padded, one replica. Set `samples`, `replicas` and `replica`. */
#define SBN_SAMPLER_INIT \
    { \
        sizeof(sbn_sampler), 0, 1, 0, 0, 0, 1, 0 \
    }

/* Writes SBN_SAMPLER_INIT to a struct of `size` bytes. */
SBN_API int sbn_sampler_init(sbn_sampler *sampler, size_t size);

/*
 * How many samples this replica has in an epoch: ceil(samples / replicas), with drop_last the
 * floor.
 */
SBN_API int sbn_sampler_length(const sbn_sampler *sampler, uint64_t *length);

/*
 * Writes the numbers of a batch to `samples`: `count` samples of this replica, from its sample
 * number `first` on. first + count must not exceed sbn_sampler_length.
 */
SBN_API int sbn_sampler_take(const sbn_sampler *sampler, uint64_t first, size_t count,
                             uint64_t *samples);

#ifdef __cplusplus
}
#endif

#endif
