/*
 * When the other ranks are out of reach, by a timeout or an error of the transport: the passes of the
 * group that are under way fail, or, with SBN_TIMEOUT_LOCAL, go on alone.
 */
#ifndef SBN_PASS_FALLBACK_H
#define SBN_PASS_FALLBACK_H

#include "pass/pool.h"

/*
 * The communicator has died or is alone; the last sentence says why. Passes that have not settled
 * come to `status`, or begin again with this rank's values, which waits for its own devices.
 */
void sbn__passes_give_up(sbn_group *group, int status);

/* The other ranks have not come to the oldest pass, which waits for them, in time. */
void sbn__passes_time_out(sbn_group *group, sbn_pass *oldest);

/* Another rank's timeout has ended the group there, as its sentence says: so it has here. */
void sbn__passes_left_behind(sbn_group *group, int status);

/* The request that a pass waits for, or NULL. */
sbn_request *sbn__pass_request(sbn_pass *pass);

#endif
