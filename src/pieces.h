/*
 * A pass in pieces: a few channels are reduced, combined and applied, then the
 * next few, so that what step 3 reads again is still in the device's cache.
 * While a piece is combined, the next one's reduction runs.
 *
 * For a pass of one layer that is made at once by one replica alone: others
 * would have to wait for each other at every piece. What outlives it changes when
 * the last piece is known; until then an error leaves outputs, and the saved
 * statistics that the pass fills, undefined and the rest as it was.
 */
#ifndef SBN_SRC_PIECES_H
#define SBN_SRC_PIECES_H

#include "pass.h"

/* Channels of a piece, of a prepared pass; 0: it is not to be made in pieces. */
size_t sbn_pieces_channels(const sbn_pass *pass);

/* All of the pass, but for what ends step 3. */
int sbn_pieces_run(sbn_pass *pass, size_t channels);

#endif
