#include "base/memory.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_long open_handles;

void sbn__handle_opened(void)
{
    atomic_fetch_add_explicit(&open_handles, 1, memory_order_relaxed);
}

void sbn__handle_closed(void)
{
    atomic_fetch_sub_explicit(&open_handles, 1, memory_order_relaxed);
}

long sbn__handles_open(void)
{
    return atomic_load_explicit(&open_handles, memory_order_relaxed);
}

void *sbn__allocate(size_t size)
{
    void *block = calloc(1, size ? size : 1);
    if (block)
        sbn__handle_opened();
    return block;
}

void sbn__free(void *block)
{
    if (block)
        sbn__handle_closed();
    free(block);
}
