/*
 * Passes that only enqueue: those of groups whose devices can combine (src/launch/combine.h),
 * where no other rank takes part and the host is not in the middle of another pass. Step 2 is
 * enqueued behind step 1 when the pass begins, which then is settled; step 3 follows when it ends.
 *
 * What the device does later and fails at is found by whoever waits for it, or by the next pass that
 * uses the same memory.
 */
#ifndef SBN_PASS_ON_DEVICE_H
#define SBN_PASS_ON_DEVICE_H

#include "pass/pass.h"

/* Decides, when the layer passes are open, which of them are combined on devices. */
void sbn__on_device_choose(sbn_pass *pass);

/*
 * Enqueues step 2 of a pass in LOCAL whose step 1 is enqueued, then settles it. A failure is kept as
 * the pass's.
 */
void sbn__on_device_combine(sbn_pass *pass);

#endif
