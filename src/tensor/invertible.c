/*
 * A backward pass from the output has xhat = (z - bias) / weight from a rounded y. The rounding,
 *
 *   at most  u |z| + tiny / slope,  |z| <= |weight| |xhat| + |bias|,
 *
 * is off xhat by u (|xhat| + |bias / weight|) + tiny / (slope |weight|): u of the type, tiny what
 * the rounding of the smallest numbers, or a device that flushes them, takes at most. The part that
 * does not shrink with xhat must stay below 2^-SHARE standard deviations.
 */
#include "tensor/invertible.h"

#include <math.h>

#include "base/type.h"
#include "tensor/shard.h"

enum { SHARE = 4 };

typedef struct rounding {
    double unit, tiny;
} rounding;

static rounding rounding_of(const sbn_batchnorm *layer)
{
    static const rounding roundings[SBN_TYPES] = {
        [SBN_F32] = {0x1p-24, 0x1p-126},
        [SBN_F16] = {0x1p-11, 0x1p-25},
        [SBN_BF16] = {0x1p-8, 0x1p-126},
    };
    rounding found = roundings[layer->config.type];
    if (layer->config.activation == SBN_LEAKY_RELU)
        found.tiny /= fmin(1.0, (float)layer->config.slope);
    return found;
}

/* Checks one replica. */
static int check(const sbn_batchnorm *layer, size_t replica, const float *weight, const float *bias,
                 const char *operation)
{
    const rounding r = rounding_of(layer);
    for (size_t c = 0; c < layer->channels; ++c) {
        const double least = ldexp(r.unit * fabs(bias[c]) + r.tiny, SHARE);
        if (isfinite(weight[c]) && fabs(weight[c]) >= least)
            continue;
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s of layer \"%.48s\", rank %d, replica %zu: weight: expected a "
                         "magnitude from %.9g in channel %zu, whose bias is %.9g, because y must "
                         "give x back (from_output), got %.9g",
                         operation, layer->name, sbn_group_rank(layer->group), replica, least, c,
                         bias[c], weight[c]);
    }
    return SBN_SUCCESS;
}

int sbn__check_invertible(const sbn_batchnorm *layer, const sbn_shard *shards,
                          const sbn_shape *shapes, const char *operation, float *weight,
                          float *bias)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; layer->affine && r < layer->group->replica_count && !status; ++r) {
        const sbn_shard *shard = &shards[r];
        sbn_replica *replica = &layer->group->replicas[r];
        if (shapes[r].elements == 0)
            continue;
        status = sbn__shard_read(replica, shard, &shard->weight, layer->channels, weight);
        if (!status)
            status = sbn__shard_read(replica, shard, &shard->bias, layer->channels, bias);
        if (!status)
            status = check(layer, r, weight, bias, operation);
    }
    return status;
}
