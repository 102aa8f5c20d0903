/*
 * The C library's allocator for the whole program, so that memory can be lacking within its own
 * functions, too: realpath and qsort. A sanitizer has an allocator of its own.
 */
#include "faults/memory.h"

#ifdef OWN_C_MEMORY
#include <errno.h>
#include <stdlib.h>

#include "support/wraps.h"

static int refuses(void)
{
    if (!wraps_fails(WRAP_C_MEMORY))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *block, size_t size);

void *malloc(size_t size)
{
    return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return refuses() ? NULL : __libc_realloc(block, size);
}
#endif
