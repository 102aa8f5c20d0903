/* Waits for an exchange: for devices without a limit, for other ranks until a deadline. */
#include "parallel/bucket.h"
#include "parallel/move.h"

/* The request that the oldest unsettled exchange waits for. */
static const sbn_request *late_request(const sbn_data_parallel *parallel,
                                       const sbn_exchange *oldest)
{
    if (oldest->header.in_flight)
        return &oldest->header;
    for (size_t i = 0; i < parallel->busy; ++i) {
        const sbn_bucket *bucket = &parallel->buckets[(parallel->oldest + i) % SBN_BUCKETS];
        if (bucket->levels.in_flight || bucket->sums.in_flight)
            return bucket->levels.in_flight ? &bucket->levels : &bucket->sums;
    }
    return NULL;
}

/* The oldest bucket, if it waits only for this rank's devices. */
static const sbn_bucket *held_by_devices(const sbn_data_parallel *parallel)
{
    const sbn_bucket *bucket = &parallel->buckets[parallel->oldest];
    const int full = parallel->busy == SBN_BUCKETS;
    if (parallel->busy > 0 &&
        (bucket->stage == SBN_BUCKET_READING || (full && bucket->stage == SBN_BUCKET_WRITING)))
        return bucket;
    return NULL;
}

void sbn__exchange_wait(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    sbn_communicator *c = &parallel->communicator;
    sbn_deadline deadline = sbn__deadline_start(c);
    for (;;) {
        sbn__parallel_progress(parallel);
        if (e->stage == SBN_SETTLED)
            return;
        const sbn_bucket *held = held_by_devices(parallel);
        if (held) {
            sbn__bucket_wait(held, parallel->replica_count);
            deadline = sbn__deadline_start(c);
            continue;
        }
        size_t first = 0;
        while (parallel->under_way[first]->stage == SBN_SETTLED)
            ++first;
        const sbn_exchange *oldest = parallel->under_way[first];
        const sbn_request *late = late_request(parallel, oldest);
        if (sbn__deadline_passed(c, &deadline, late))
            sbn__parallel_give_up(parallel, sbn__communicator_time_out(c, late, oldest->name));
    }
}
