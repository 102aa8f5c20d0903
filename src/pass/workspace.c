#include "pass/workspace.h"

#include "base/error.h"
#include "base/memory.h"

int sbn__chunk_open(sbn_chunk *chunk, size_t replicas)
{
    chunk->shapes = sbn__allocate(sizeof *chunk->shapes * replicas);
    chunk->work = sbn__allocate(sizeof *chunk->work * replicas);
    return chunk->shapes && chunk->work ? SBN_SUCCESS : sbn__fail_memory("a pass");
}

void sbn__chunk_close(sbn_chunk *chunk, size_t replicas)
{
    if (chunk->work)
        sbn__chunk_clear(chunk, replicas);
    for (size_t r = 0; chunk->work && r < replicas; ++r) {
        sbn__release_buffer(&chunk->work[r].partial);
        sbn__release_buffer(&chunk->work[r].accumulators);
        sbn__release_buffer(&chunk->work[r].repeat);
        sbn__staging_release(&chunk->work[r].on_host);
    }
    sbn__free(chunk->work);
    sbn__free(chunk->shapes);
}

void sbn__chunk_step(sbn_chunk *chunk, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        if (chunk->work[r].next)
            sbn__move_event(&chunk->work[r].last, &chunk->work[r].next);
}

void sbn__chunk_wait(const sbn_chunk *chunk, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r)
        if (chunk->work[r].last)
            clWaitForEvents(1, &chunk->work[r].last);
}

void sbn__chunk_clear(sbn_chunk *chunk, size_t replicas)
{
    sbn__chunk_wait(chunk, replicas);
    for (size_t r = 0; r < replicas; ++r) {
        sbn__release_event(&chunk->work[r].last);
        sbn__release_event(&chunk->work[r].next);
    }
}
