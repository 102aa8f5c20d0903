/*
 * Transports: how the ranks of a group add integers over all of them.
 *
 * Most programs need only <syncbn-mpi.h>, a transport over MPI, or the hub at the end of this file,
 * one between threads. To bring your own, fill the table below; those two do no more. All ranks need
 * the same byte order, because names, settings and digests travel as bytes: others always disagree.
 */
#ifndef SYNCBN_TRANSPORT_H
#define SYNCBN_TRANSPORT_H

#include <stddef.h>
#include <stdint.h>

#include <syncbn/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Requests have a tag. For each tag the n-th request that one rank starts belongs to the
 * n-th that every other rank starts; between tags there is no order (the MPI transport
 * duplicates its communicator for each tag).
 */
enum {
    SBN_TAG_HEADER = 0, /* what each rank is about to do, and the sums that all ranks expect */
    SBN_TAG_WORDS = 1,  /* other sums, once the headers have agreed */
    SBN_TAG_REPEAT = 2, /* the wide accumulators of a pass, or who disagreed */
    SBN_TAGS = 3        /* how many tags there are */
};

/* The largest world size: sums of flags over the ranks are held in 12 bits. */
#define SBN_MAX_WORLD_SIZE 4095

/*
 * A transport's table. The functions are called from the thread that uses the group. They return 0
 * or an error, which ends the group with SBN_TRANSPORT_ERROR, or with SBN_OUT_OF_MEMORY if that is
 * the error. A function that fails may call sbn_set_last_error(code, "sentence") before it returns
 * the code: the group's sentence then includes it.
 */
typedef struct sbn_transport {
    size_t size;    /* sizeof(sbn_transport) */
    void *context;  /* passed to the functions below */
    int rank;       /* of this rank, 0 ... world_size - 1 */
    int world_size; /* number of ranks, 1 ... SBN_MAX_WORLD_SIZE */

    /*
     * Begins to add `count` words over all ranks, and does not block. When the request is done the
     * sum has replaced `words` on every rank; until then the library does not touch them. Addition
     * of int64 wraps around, in any order. All ranks give the same count. *request must not stay
     * NULL.
     */
    int (*start)(void *context, int tag, int64_t *words, size_t count, void **request);

    /*
     * Sets *done to 1 if the sum is here, and releases the request, which is not used again; else
     * to 0. Never blocks. When it is done here, this rank must have sent all that other ranks need
     * for the sum: the next call may come late, or never. The library abandons a request only after
     * a timeout, an error of the transport or sbn_group_abort. Then it tests it now and then, and
     * keeps its words until it is done, if need be for the life of the process.
     */
    int (*test)(void *context, void *request, int *done);

    /*
     * Writes to `ranks` (room for world_size) the ranks that have not started this request as far
     * as is known, and returns their number, or -1 if that cannot be known. Never blocks. Called a
     * second before a timeout (half the timeout if that is shorter), or after sbn_group_abort, so that
     * the transport can ask the ranks and hear their answers in `test`; and again when that time is
     * over, so that the sentence can name them. May be NULL.
     */
    int (*missing)(void *context, void *request, int *ranks);

    /*
     * Fills `part` with a transport between `count` of the ranks, whose numbers are in `ranks`,
     * ascending; ranks[i] becomes its rank i. Do not write beyond part->size. Only those ranks call
     * it, each with the same arguments, and ranks of several parts in the same order; it may block
     * until all have called. After SBN_OUT_OF_MEMORY it is still called for this rank's other parts,
     * whose ranks may wait in it. `number` differs for each part that a group makes from it. Needed by
     * sbn_group_split and sbn_data_parallel_create; may be NULL.
     */
    int (*split)(void *context, const int *ranks, int count, int number,
                 struct sbn_transport *part);

    /* Ends a transport that `split` has made; required in those, not called in others. */
    void (*end)(void *context);
} sbn_transport;

#define SBN_TRANSPORT_INIT \
    { \
        sizeof(sbn_transport), NULL, 0, 0, NULL, NULL, NULL, NULL, NULL \
    }

/*
 * How many requests and words there are. At most SBN_MAX_PASSES requests are under way with each tag.
 * One pass, whatever the number of its layers, makes one request, header and sums together, where all
 * ranks expect its sums and end it at once, as sbn_forward and sbn_backward do; otherwise two. Training
 * repeats its calls, so ranks expect the number of words that followed the last time. If a pass has
 * other sums, or a rank has begun it by sbn_forward_begin or another begin, the words behind the header
 * count for nothing and the sums follow in a second request.
 *
 *   header                          18 words
 *   sums                            1, and for each layer 1 + 8 per channel forward,
 *                                   1 + 9 per channel backward
 *   wide accumulators               1, and for each layer that has some 1 + 24 per channel of
 *                                   these
 *   a disagreement                  26 per rank, for each layer up to the one that differs
 *   sbn_group_split                 two headers; 1 per rank; 1 per colour of each rank
 *   sbn_data_parallel_create        those of a split; then 2 per rank
 *   an exchange                     5 per rank
 *     each bucket                   1 per four ranks and 7 per 1024 floats; then 1 per float
 *                                   (averaging) or per two floats (broadcast)
 */

/*
 * The in-memory transport: a hub connects `world_size` threads of one process, each with a group of
 * its own. The hub must outlive the groups. A new group may be made while the one before it lives, but
 * two whose passes or exchanges are under way together need a hub each. After a timeout or
 * sbn_group_abort it cannot be used for new groups: make another.
 */
typedef struct sbn_hub sbn_hub;

/*
 * Makes a hub for 1 ... SBN_MAX_WORLD_SIZE ranks.
 *
 * Errors. SBN_INVALID_ARGUMENT, SBN_OUT_OF_MEMORY; *hub is then NULL.
 */
SBN_API int sbn_hub_create(int world_size, sbn_hub **hub);

/* Ends a hub; no group may use it any more. */
SBN_API void sbn_hub_destroy(sbn_hub *hub);

/*
 * Fills the table of rank `rank`, for that rank's sbn_group_create; transport->size must be set
 * (SBN_TRANSPORT_INIT).
 */
SBN_API int sbn_hub_transport(sbn_hub *hub, int rank, sbn_transport *transport);

#ifdef __cplusplus
}
#endif

#endif
