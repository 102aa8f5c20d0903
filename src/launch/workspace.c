#include "launch/workspace.h"

void sbn__work_wait(const sbn_work *work, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        if (work[r].last)
            clWaitForEvents(1, &work[r].last);
}

void sbn__work_clear(sbn_work *work, size_t replicas)
{
    sbn__work_wait(work, replicas);
    for (size_t r = 0; r < replicas; ++r)
        sbn__release_event(&work[r].last);
}
