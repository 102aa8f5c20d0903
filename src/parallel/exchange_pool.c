#include "parallel/exchange_pool.h"

#include <string.h>

#include "base/memory.h"
#include "parallel/header.h"

int sbn__exchange_acquire(sbn_data_parallel *parallel, sbn_exchange **found)
{
    const size_t replicas = parallel->replica_count;
    const size_t words = sbn__exchange_header_words(parallel);
    sbn_exchange *e = parallel->idle;
    if (!e) {
        e = sbn__allocate(sizeof *e);
        if (!e)
            return sbn__fail_memory("an exchange of tensors");
        sbn__object_add(&e->object, SBN_HANDLE_EXCHANGE);
        e->parallel = parallel;
        e->ended = 1;
        parallel->idle = e;
    }
    if (!e->ready)
        e->ready = sbn__allocate(sizeof(cl_event) * replicas);
    if (!e->written)
        e->written = sbn__allocate(sizeof(cl_event) * replicas);
    if (!e->ready || !e->written)
        return sbn__fail_memory("an exchange of tensors");
    const int status = sbn__request_reserve(&e->header, words, "an exchange of tensors");
    if (status)
        return status;
    parallel->idle = e->next_idle;
    *found = e;
    return SBN_SUCCESS;
}

void sbn__exchange_release(sbn_exchange *e)
{
    sbn_data_parallel *parallel = e->parallel;
    size_t i = 0;
    while (i < parallel->under_way_count && parallel->under_way[i] != e)
        ++i;
    if (i < parallel->under_way_count) {
        --parallel->under_way_count;
        memmove(parallel->under_way + i, parallel->under_way + i + 1,
                sizeof(sbn_exchange *) * (parallel->under_way_count - i));
    }
    for (size_t r = 0; r < parallel->replica_count; ++r) {
        sbn__release_event(&e->ready[r]);
        sbn__release_event(&e->written[r]);
    }
    e->ended = 1;
    e->next_idle = parallel->idle;
    parallel->idle = e;
}

int sbn__exchanges_prepare(sbn_data_parallel *parallel)
{
    sbn_exchange *e;
    const int status = sbn__exchange_acquire(parallel, &e);
    if (!status)
        sbn__exchange_release(e);
    return status;
}

void sbn__exchanges_free(sbn_data_parallel *parallel)
{
    while (parallel->idle) {
        sbn_exchange *e = parallel->idle;
        parallel->idle = e->next_idle;
        sbn__free(e->ready);
        sbn__free(e->written);
        sbn__request_free(&e->header);
        sbn__object_remove(&e->object);
        sbn__free(e);
    }
}
