/*
 * How the ranks of a group add their words: one operation, started and
 * tested. A rank is a process or a thread; it may drive several devices,
 * whose words the library has added already.
 *
 * The table below is all that a transport is. Bring your own by filling one:
 * the library's MPI part and the in-memory hub at the end of this file do no
 * more than that.
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
 * Reductions run on SBN_TAGS independent streams. On one stream the n-th
 * start of one rank meets the n-th start of every other; between streams
 * nothing is ordered (an MPI transport duplicates its communicator per stream).
 */
enum {
    SBN_TAG_HEADER = 0, /* what each rank is about to do; fixed size */
    SBN_TAG_WORDS = 1,  /* the sums, once the headers have agreed */
    SBN_TAG_REPEAT = 2, /* a pass repeated in the wide format, or a disagreement explained */
    SBN_TAGS = 3
};

/* The largest world size: sums of flags over the ranks are held in 12 bits. */
#define SBN_MAX_WORLD_SIZE 4095

typedef struct sbn_transport {
    size_t size;    /* sizeof(sbn_transport) */
    void *context;  /* handed to the functions below */
    int rank;       /* of this rank, 0 ... world_size - 1 */
    int world_size; /* ranks in all */

    /*
     * Begins to add `count` words over all ranks and returns at once. The
     * sum replaces `words` on every rank when the request is done; until
     * then the library leaves them alone. Wrapping int64 addition; the order
     * of the ranks does not matter. *request must not be left NULL. Returns 0
     * or an error, which ends the group with SBN_TRANSPORT_ERROR (or with
     * SBN_OUT_OF_MEMORY, if that is what it returns).
     */
    int (*start)(void *context, int stream, int64_t *words, size_t count, void **request);

    /*
     * Sets *done to 1 when the sum has arrived (the request is released and
     * not used again), else to 0. Never blocks. By then all that the other
     * ranks need of this one for the sum must have been sent: the next call
     * may come late, or never. The library abandons a request only after a
     * timeout or an error of the transport. After a timeout it goes on testing
     * it when it can; its words stay allocated until it is done, if need be
     * for the life of the process.
     */
    int (*test)(void *context, void *request, int *done);

    /*
     * Optional (may be NULL): writes into `ranks` (world_size of them) the
     * ranks that have not started this request, as far as is known now, and
     * returns their number, or -1 if that cannot be known. Never blocks. It is
     * called when a timeout is nearly over (a second before, or half the
     * timeout if that is shorter), so that a transport can ask the other ranks
     * and hear their answers in `test`, and again when it is over, so that the
     * sentence can name who is missing.
     */
    int (*missing)(void *context, void *request, int *ranks);

    /*
     * Optional: fills `part` with a transport between `count` of the ranks,
     * their ranks ascending; rank ranks[i] has rank i in it. Only those
     * ranks call it, each with the same arguments, and ranks of several
     * parts in the same order; it may block until all have come. `number` is
     * another one for each part made from this transport. sbn_group_split
     * needs it. Returns 0 or an error, as start does.
     */
    int (*split)(void *context, const int *ranks, int count, int number,
                 struct sbn_transport *part);

    /* Ends a transport that `split` has made; required in those, else not called. */
    void (*end)(void *context);
} sbn_transport;

/*
 * A function of the table that fails may say why: sbn_set_last_error(code,
 * "sentence") before it returns the code. The sentence of the group's failure
 * then holds it.
 *
 * A rank's calls come from the thread that uses the group. At most
 * SBN_MAX_PASSES requests are under way on each stream. The words are those of
 * one pass, whatever the number of its layers: 17 for a header; for the sums 1
 * and, for each layer, 1 + 8 (backward 1 + 9) per channel; for a repeat 1 and,
 * for each layer that needs it, 1 + 19 per channel. A disagreement is explained
 * in 21 per rank, again for each layer before the one that differs. A split
 * adds one per rank and one per colour of each. On a part that
 * sbn_parallel_create makes: 2 and 5 per rank; for each bucket of parallel.h
 * one per four ranks and 7 per 1024 floats, then one per float, or per two
 * floats. All ranks give the same count, for the library starts sums only
 * after the headers have agreed.
 */

/*
 * The in-memory transport: `world_size` threads of one process, each with a
 * group of its own, meet in a hub. The hub must outlive the groups that use it,
 * and is spent with them after a timeout: new groups need a new hub.
 */
typedef struct sbn_hub sbn_hub;

/* Makes a hub for 1 ... SBN_MAX_WORLD_SIZE ranks. */
SBN_API int sbn_hub_create(int world_size, sbn_hub **hub);
SBN_API void sbn_hub_destroy(sbn_hub *hub);

/* Fills the table of rank `rank`, to be handed to that rank's sbn_group_create. */
SBN_API int sbn_hub_transport(sbn_hub *hub, int rank, sbn_transport *transport);

#ifdef __cplusplus
}
#endif

#endif
