/*
 * Backward where mean and variance are constants: dx = weight invstd dy. That
 * is forward's formula of dy with mean 0 and bias 0, so its kernel computes it.
 */
#include <string.h>

#include "backward.h"
#include "forward.h"

/* The first three rows become that kernel's statistics: means, means_low, invstds. */
int sbn_frozen_fill(sbn_part *part)
{
    const size_t channels = part->layer->channels;
    for (size_t r = 0; r < part->group->replica_count; ++r) {
        memset(sbn_gradient_row(part, r, SBN_ROW_G), 0, sizeof(float) * 2 * channels);
        float *invstd = sbn_gradient_row(part, r, SBN_ROW_K);
        for (size_t c = 0; c < channels; ++c)
            invstd[c] = (float)part->saved->invstd[c];
    }
    return SBN_SUCCESS;
}

int sbn_frozen_apply(sbn_part *part, sbn_replica *replica, cl_event *event)
{
    const size_t r = replica->index;
    sbn_share share = part->shares[r];
    share.x = share.dy;
    share.y = share.dx;
    share.bias = (sbn_buffer){part->gradients.device[r].mem, 0}; /* the row of zeros */
    return sbn_forward_launch(replica, part->layer, &share, &part->geometries[r], &part->gradients,
                              part->work[r].ready, event);
}
