/* Configured without oneDNN: no contenders. */
#include "bench/onednn.h"

int bench_onednn_open(scene *s, contender *made, size_t *count)
{
    (void)s;
    (void)made;
    *count = 0;
    return SBN_SUCCESS;
}

const char *bench_onednn_version(void)
{
    return NULL;
}
