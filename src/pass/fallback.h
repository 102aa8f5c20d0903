/*
 * Other ranks that cannot be reached, after a timeout or an error of the transport: the passes
 * under way fail or, with SBN_TIMEOUT_LOCAL, continue with this rank's values.
 */
#pragma once

#include "pass/pass.h"

/*
 * The communicator is dead or alone; the last sentence says why. Passes that are not settled get
 * `status`, or go on with this rank's values: those of narrow accumulators are copied already.
 */
void sbn__passes_give_up(sbn_group *group, int status);

/* The oldest pass has waited for the other ranks until the timeout. */
void sbn__passes_time_out(sbn_group *group, sbn_pass *oldest);

/* The request that a pass waits for; one that is not in flight if it waits for none. */
sbn_request *sbn__pass_request(sbn_pass *pass);
