/*
 * Step 2 of a pass: the state machine of src/pass.h. None of these blocks but
 * the restart after a timeout, which waits for this member's own devices.
 */
#ifndef SBN_SRC_COMBINE_H
#define SBN_SRC_COMBINE_H

#include "pass.h"

/* The pass is under way and its reduction enqueued, or call.error says why not. */
void sbn_combine_start(sbn_pass *pass);

/* One look at every pass of the group, in the order they began. */
void sbn_combine_progress(sbn_group *group);

/* The other members have not come in time: the passes fail, or go on alone. */
void sbn_combine_timeout(sbn_group *group);

/* "rank 1, 3", as far as the transport knows, for a request that has not ended in time. */
void sbn_name_missing(const sbn_transport *transport, void *request, char *out, size_t size);

/* The sentence of a function of the transport's table that returned `code`; the group is dead. */
void sbn_group_fail_transport(sbn_group *group, int code, const char *what);

#endif
