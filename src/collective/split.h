/*
 * Splitting a communicator by colour. Four sums over the ranks: a header, as of a pass, in which
 * anyone who cannot take part says so; how many colours each rank has; which ones; and a last
 * header, so that either all ranks have their communicators or none. Between the last two the
 * transport makes one for each colour.
 */
#ifndef SBN_COLLECTIVE_SPLIT_H
#define SBN_COLLECTIVE_SPLIT_H

#include "collective/agreement.h"
#include "collective/communicator.h"

/* A colour of this rank, and what joins it to the other ranks that have it. */
typedef struct sbn_subset {
    int colour;
    sbn_communicator communicator;
} sbn_subset;

/* Can it be split? SBN_INVALID_ARGUMENT if its transport cannot. */
int sbn__communicator_check_splits(const sbn_communicator *communicator);

/*
 * Fills the communicators of this rank's subsets, of ascending colours. `call` is what the ranks
 * must agree on, and gets its number; call->error, with the last sentence, says that this rank cannot
 * take part. In sentences
 * ranks are named by their numbers in the subset, or with `keep_names` by those in the whole.
 * After an error no subset has one. A rank that is alone has subsets that are alone.
 */
int sbn__communicator_split(sbn_communicator *whole, sbn_call *call, sbn_subset *subsets,
                            size_t count, int keep_names);

#endif
