/*
 * Splitting a communicator by colour, in four sums over the ranks: a header like that of a pass, in which a rank that
 * cannot take part reports its error; how many colours each rank has; which ones; and a last header, so that either all
 * ranks have their communicators or none has. Before the last one the transport makes a communicator for each colour.
 */
#pragma once

#include "collective/agreement.h"
#include "collective/communicator.h"

/* A colour of this rank, and the communicator of the ranks that have it. */
typedef struct sbn_subset {
    int colour;
    sbn_communicator communicator;
} sbn_subset;

/* SBN_INVALID_ARGUMENT if the transport has no split. */
int sbn__communicator_check_splits(const sbn_communicator *communicator);

/* The least of the colours that is above `last`; SBN_NO_COLOUR: none. */
int sbn__next_colour(const int *colours, size_t count, int last);

/*
 * Fills the communicators of this rank's subsets, in ascending order of colours. `call` is what the ranks must agree
 * on, and gets its number; call->error, with the last sentence, tells that this rank cannot take part. Sentences name
 * ranks by their numbers in the subset, or with `keep_names`, of one subset at most, by those in the parent, which has
 * no names itself. After an error no subset has a communicator. The subsets of a rank that is alone are alone, too.
 */
int sbn__communicator_split(sbn_communicator *parent, sbn_call *call, sbn_subset *subsets,
                            size_t count, int keep_names);
