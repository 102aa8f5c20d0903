/*
 * oneDNN's batch normalisation on the CPU, in each of its layouts: the peer
 * that the library is compared with there. Found by configure, or left out.
 */
#ifndef TOOLS_BENCH_ONEDNN_H
#define TOOLS_BENCH_ONEDNN_H

#include "bench/contender.h"

enum { BENCH_ONEDNN_LAYOUTS = 4 };

/* All its contenders' names begin so. */
#define BENCH_ONEDNN "onednn "

/*
 * "onednn nchw", "onednn nChw8c", "onednn nChw16c", "onednn nhwc", forward and
 * backward; none where it is left out, or has no such layout on this CPU.
 */
int bench_onednn_open(scene *s, contender *made, size_t *count);

/* "2.6.3", or NULL where it is left out. */
const char *bench_onednn_version(void);

#endif
