#include "parallel/tensors.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/versioned_struct.h"
#include "tensor/overlap.h"

sbn_tensors sbn__tensors_at(const sbn_exchange *e, size_t r)
{
    sbn_tensors tensors;
    sbn__struct_get(&tensors, sizeof tensors, e->replicas, r);
    return tensors;
}

/* --- checks ------------------------------------------------------------------------------ */

static size_t list_claims(const sbn_exchange *e, sbn_claim *list)
{
    size_t count = 0;
    for (size_t r = 0; r < e->parallel->replica_count; ++r) {
        const sbn_tensors its = sbn__tensors_at(e, r);
        const int written = e->averages || e->parallel->first + r != e->root;
        for (size_t t = 0; t < e->tensors; ++t) {
            if (e->counts[t] == 0)
                continue;
            list[count] = (sbn_claim){.use = {.buffer = its.buffers[t],
                                              .elements = e->counts[t],
                                              .type = SBN_F32,
                                              .written = written,
                                              .rows = 1},
                                      .order = count,
                                      .branch = t,
                                      .replica = r};
            ++count;
        }
    }
    return count;
}

/* None of the tensors that are written may overlap another one, of any replica here. */
static int check_apart(const sbn_exchange *e, const char *who)
{
    sbn_data_parallel *parallel = e->parallel;
    const size_t most = parallel->replica_count * e->tensors;
    const sbn_claim *first, *second;
    if (most < 2)
        return SBN_SUCCESS;
    if (parallel->claims_size < most) {
        sbn__free(parallel->claims);
        parallel->claims = sbn__allocate(sizeof *parallel->claims * most);
        parallel->claims_size = parallel->claims ? most : 0;
        if (!parallel->claims)
            return sbn__fail_memory("the tensors of an exchange");
    }
    if (!sbn__claims_find(parallel->claims, list_claims(e, parallel->claims), &first, &second))
        return SBN_SUCCESS;
    char replica[40] = "";
    if (first->replica != second->replica)
        snprintf(replica, sizeof replica, " of replica %zu", first->replica);
    return sbn__fail(SBN_INVALID_ARGUMENT,
                     "%s: replica %zu: tensor %zu must not overlap tensor %zu%s in the same call",
                     who, second->replica, second->branch, first->branch, replica);
}

int sbn__tensors_check(const sbn_exchange *e)
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
        const sbn_tensors its = sbn__tensors_at(e, r);
        if (e->tensors > 0 && !its.buffers)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: expected %zu buffers, got NULL", who, r, e->tensors);
        if (its.num_wait > 0 && !its.wait_list)
            return sbn__fail(SBN_INVALID_ARGUMENT,
                             "%s: replica %zu: wait_list: expected %u events, got NULL", who, r,
                             (unsigned)its.num_wait);
        for (size_t t = 0; t < e->tensors; ++t) {
            char name[96];
            snprintf(name, sizeof name, "replica %zu: tensor %zu", r, t);
            const int status = e->counts[t] > 0
                                   ? sbn__check_buffer(&its.buffers[t], e->counts[t],
                                                       &e->parallel->replicas[r], who, name)
                                   : SBN_SUCCESS;
            if (status)
                return status;
        }
    }
    return check_apart(e, who);
}

/* --- events ----------------------------------------------------------------------------- */

/* The place for a replica's event; NULL if there is none or the caller's structs cannot be read. */
static cl_event *event_of(const sbn_data_parallel *parallel, const sbn_tensors *replicas, size_t r)
{
    sbn_tensors its;
    if (!replicas || !sbn__struct_is_valid(replicas, parallel->replica_count, sizeof *replicas))
        return NULL;
    sbn__struct_get(&its, sizeof its, replicas, r);
    return its.event;
}

void sbn__tensors_forget_events(const sbn_data_parallel *parallel, const sbn_tensors *replicas)
{
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        cl_event *event = event_of(parallel, replicas, r);
        if (event)
            *event = NULL;
    }
}

static void withdraw_events(const sbn_data_parallel *parallel, const sbn_tensors *replicas)
{
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        cl_event *event = event_of(parallel, replicas, r);
        if (event && *event) {
            clReleaseEvent(*event);
            *event = NULL;
        }
    }
}

int sbn__tensors_hand_over(const sbn_exchange *e)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < e->parallel->replica_count && !status; ++r) {
        sbn_replica *replica = &e->parallel->replicas[r];
        const sbn_tensors its = sbn__tensors_at(e, r);
        cl_event event = NULL;
        status = sbn__marker(replica, e->written[r] ? 1 : 0, e->written[r] ? &e->written[r] : NULL,
                             &event);
        if (!status && its.event) {
            *its.event = event;
            sbn__handle_closed();
        } else {
            sbn__release_event(&event);
        }
        if (!status)
            status = sbn__flush(replica);
    }
    if (status)
        withdraw_events(e->parallel, e->replicas);
    return status;
}
