/*
 * Step 2 of a pass: the state machine of src/pass/pass.h. None of these blocks but
 * the restart after a timeout, which waits for this rank's own devices.
 */
#ifndef SBN_PASS_COMBINE_H
#define SBN_PASS_COMBINE_H

#include "pass/pass.h"

/* The pass is under way and its reduction enqueued, or call.error says why not. */
void sbn__combine_start(sbn_pass *pass);

/* One look at every pass of the group, in the order they began. */
void sbn__combine_progress(sbn_group *group);

/* The other ranks have not come in time: the passes fail, or go on alone. */
void sbn__combine_timeout(sbn_group *group);

/* "rank 1, 3", as far as the transport knows, for a request that has not ended in time. */
void sbn__name_missing(const sbn_transport *transport, void *request, char *out, size_t size);

/* The sentence of a function of the transport's table that returned `code`; the group is dead. */
void sbn__group_fail_transport(sbn_group *group, int code, const char *what);

#endif
