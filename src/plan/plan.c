#include "plan/plan.h"

#include "base/type.h"
#include "plan/sizes.h"

/* So many slices keep any device busy. */
#define MOST_SLICES 256

#define WORK_GROUPS_PER_UNIT 4

size_t sbn__work_groups_wanted(const sbn_replica *replica)
{
    return sbn__tuned(&replica->tuning, SBN_TUNED_GROUPS,
                      replica->compute_units * WORK_GROUPS_PER_UNIT);
}

size_t sbn__slices_allowed(const sbn_shape *shape, const sbn_replica *replica, size_t fraction,
                           size_t few_bytes, size_t accumulator_length, size_t strips)
{
    const sbn_tuning *tuning = &replica->tuning;
    const size_t tensor = shape->elements * sbn__type_size(shape->type);
    const size_t bytes = shape->channels * accumulator_length * sizeof(int64_t);
    const size_t wanted = sbn__ceil_div(2 * replica->compute_units, strips);
    const size_t few = sbn__at_most(wanted,
                                    sbn__tuned(tuning, SBN_TUNED_SLICES, few_bytes) / bytes);
    const size_t cheap = sbn__tuned(tuning, SBN_TUNED_SLICES, tensor / fraction) / bytes;
    return sbn__at_most(sbn__at_least(sbn__at_least(cheap, few), 1), MOST_SLICES);
}
