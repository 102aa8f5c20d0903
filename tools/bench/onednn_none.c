/* Configured without oneDNN: no contenders. */
#include "bench/onednn.h"

int bench_onednn_open(scene *s, contender_list *all)
{
    (void)s;
    (void)all;
    return SBN_SUCCESS;
}

const char *bench_onednn_version(void)
{
    return NULL;
}
