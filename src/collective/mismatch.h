/*
 * Who did what, after headers have differed: a slot for each rank says what it
 * called with the first layer; while all say the same, the next one is explained.
 * Ranks that made the same call are named together, and where they made it with
 * other settings, those settings with their values. Rare ones first, for most
 * often they are the wrong ones.
 */
#ifndef SBN_COLLECTIVE_MISMATCH_H
#define SBN_COLLECTIVE_MISMATCH_H

#include "collective/agreement.h"

/* Words in all, and this rank's slot in zeroed words. */
size_t sbn__mismatch_words(int world_size);
void sbn__mismatch_fill(int64_t *words, int rank, const sbn_call *call);

/* From the sums: do all ranks call the same layer without an error, so that a later one differs? */
int sbn__mismatch_goes_on(const int64_t *words, int world_size);

/* From the sums: has any rank reported this error? */
int sbn__mismatch_reports(const int64_t *words, int world_size, int error);

/*
 * The sentence about the layers in one `place` of the call, from 0 on, and the
 * status that this rank returns: its own error where it reported one,
 * SBN_REMOTE_ERROR where another did, else SBN_DISAGREEMENT.
 */
int sbn__mismatch_read(const int64_t *words, size_t place, int rank, int world_size, char *sentence,
                       size_t size);

#endif
