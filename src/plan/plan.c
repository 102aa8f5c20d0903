#include "plan/plan.h"

#include "base/type.h"
#include "plan/sizes.h"

/* So many slices keep any device busy. */
#define MOST_SLICES 256

size_t sbn__slices_allowed(const sbn_shape *shape, const sbn_replica *replica,
                           const sbn_slice_limits *limits, size_t bytes, size_t strips)
{
    const sbn_tuning *tuning = &replica->tuning;
    const size_t tensor = shape->elements * sbn__type_size(shape->type);
    const size_t wanted = sbn__ceil_div(2 * replica->compute_units, strips);
    const size_t few =
        sbn__at_most(wanted, sbn__tuned(tuning, SBN_TUNED_SLICES, limits->few_bytes) / bytes);
    const size_t cheap = sbn__tuned(tuning, SBN_TUNED_SLICES, tensor / limits->fraction) / bytes;
    return sbn__at_most(sbn__at_least(sbn__at_least(cheap, few), 1), MOST_SLICES);
}
