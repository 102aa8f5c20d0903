/*
 * The explanation after headers have differed. Each rank sends a slot about the first layer of its call; while all
 * slots agree, the next layer follows. Ranks with the same call are named together; if only settings differ, those
 * are named with their values. Small sets come first, because they are usually the wrong ones.
 */
#pragma once

#include "collective/agreement.h"

/* Words in all, and this rank's slot in zeroed words. */
size_t sbn__mismatch_words(int world_size);
void sbn__mismatch_fill(int64_t *words, int rank, const sbn_call *call);

/* From the sums: 1 if all ranks call the same layer without an error, so that a later layer differs. */
int sbn__mismatch_goes_on(const int64_t *words, int world_size);

/* From the sums: 1 if any rank has timed out or was aborted, and does not go on with the others. */
int sbn__mismatch_gives_up(const int64_t *words, int world_size);

/*
 * Sets the sentence about the layers in one `place` of the call, from 0 on, and returns this rank's status: its own
 * error where it reported one, SBN_REMOTE_ERROR where another did, else SBN_DISAGREEMENT.
 */
int sbn__mismatch_read(const int64_t *words, size_t place, int rank, int world_size);
