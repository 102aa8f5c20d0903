/*
 * The C library's allocator, as far as objects of this program call it: the transport over MPI and
 * the command take their memory from it. Blocks count as descriptors do.
 */
#include <stdlib.h>

#include "support/wraps.h"

WRAP(void *, malloc, (size_t size))
{
    void *block = wraps_fails(WRAP_MALLOC) ? NULL : __real_malloc(size);
    wraps_hold(WRAPS_DESCRIPTORS, block != NULL);
    return block;
}

WRAP(void *, calloc, (size_t count, size_t size))
{
    void *block = wraps_fails(WRAP_CALLOC) ? NULL : __real_calloc(count, size);
    wraps_hold(WRAPS_DESCRIPTORS, block != NULL);
    return block;
}

WRAP(void, free, (void *block))
{
    wraps_hold(WRAPS_DESCRIPTORS, block ? -1 : 0);
    __real_free(block);
}
