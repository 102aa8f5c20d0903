/*
 * The C library's allocator, as far as objects of this program call it: the transport over MPI and
 * the command take their memory from it. Blocks count as descriptors do.
 */
#include <stdlib.h>

#include "support/wraps.h"

#define WRAP_ALLOCATOR(f, function, parameters, arguments) \
    WRAP_HOLD(void *, f, function, NULL, WRAPS_DESCRIPTORS, made != NULL, parameters, arguments)

WRAP_ALLOCATOR(malloc, WRAP_MALLOC, (size_t size), (size))
WRAP_ALLOCATOR(calloc, WRAP_CALLOC, (size_t count, size_t size), (count, size))

WRAP(void, free, (void *block))
{
    wraps_held[WRAPS_DESCRIPTORS] -= block != NULL;
    __real_free(block);
}
