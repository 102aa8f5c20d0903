/*
 * A pass in chunks: a few channels are reduced, combined and applied, then the
 * next few, so that what step 3 reads again is still in the device's cache.
 * While a chunk is combined, the next one's reduction runs.
 *
 * For a pass of one layer that is made at once by one replica alone: others
 * would have to wait for each other at every chunk. What outlives it changes when
 * the last chunk is known; until then an error leaves outputs, and the saved
 * statistics that the pass fills, undefined and the rest as it was.
 */
#ifndef SBN_PASS_CHUNKS_H
#define SBN_PASS_CHUNKS_H

#include "pass/pass.h"

/* Channels of a chunk, of a prepared pass; 0: it is not to be made in chunks. */
size_t sbn__chunks_channels(const sbn_pass *pass);

/* All of the pass, but for what ends step 3. */
int sbn__chunks_run(sbn_pass *pass, size_t channels);

#endif
