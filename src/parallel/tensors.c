#include "parallel/tensors.h"

#include <stdio.h>

#include "base/versioned_struct.h"
#include "parallel/overlap.h"
#include "tensor/shard.h"

sbn_tensors sbn__tensors_at(const sbn_exchange *e, size_t r)
{
    sbn_tensors tensors;
    sbn__struct_get(&tensors, sizeof tensors, e->replicas, r);
    return tensors;
}

int sbn__parallel_check_state(sbn_data_parallel *parallel)
{
    if (parallel->under_way_count == SBN_MAX_PASSES)
        return sbn__fail(SBN_INVALID_ARGUMENT, "at most %d exchanges may be under way",
                         SBN_MAX_PASSES);
    return sbn__communicator_check(&parallel->communicator, "an exchange");
}

int sbn__exchange_check_under_way(const sbn_exchange *e)
{
    const int status = sbn__check_handle(e, SBN_HANDLE_EXCHANGE, "exchange");
    if (!status && e->ended)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "exchange: expected an exchange under way, got an ended one");
    return status;
}

int sbn__exchange_check_tensors(const sbn_exchange *e)
{
    const char *who = e->averages ? "sbn_average_gradients" : "sbn_broadcast";
    if (e->tensors > 0 && !e->counts)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: counts: expected %zu sizes, got NULL", who,
                         e->tensors);
    if (!e->averages && e->root >= e->parallel->total)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: root: expected a replica below %zu, got %zu",
                         who, e->parallel->total, e->root);
    if (!e->replicas)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: replicas: expected tensors of %zu replicas, got NULL", who,
                         e->parallel->replica_count);
    char array[64];
    snprintf(array, sizeof array, "%s: replicas", who);
    const int possible = sbn__struct_check(e->replicas, e->parallel->replica_count,
                                           SBN_STRUCT(sbn_tensors), array);
    if (possible)
        return possible;
    for (size_t r = 0; r < e->parallel->replica_count; ++r) {
        const sbn_tensors own = sbn__tensors_at(e, r), *its = &own;
        if (e->tensors > 0 && !its->buffers)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: expected %zu buffers, got NULL", who, r, e->tensors);
        if (its->num_wait > 0 && !its->wait_list)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: wait_list: expected %u events, got NULL", who, r,
                             (unsigned)its->num_wait);
        for (size_t t = 0; t < e->tensors; ++t) {
            char name[96];
            snprintf(name, sizeof name, "replica %zu: tensor %zu", r, t);
            const int status = e->counts[t] > 0
                                   ? sbn__check_buffer(&its->buffers[t], e->counts[t],
                                                       &e->parallel->replicas[r], who, name)
                                   : SBN_SUCCESS;
            if (status)
                return status;
        }
    }
    return sbn__exchange_check_apart(e, who);
}
