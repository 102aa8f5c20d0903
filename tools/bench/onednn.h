/*
 * oneDNN's batch normalisation on the CPU, in each of its layouts, for comparison. Left out if
 * configure does not find oneDNN.
 */
#ifndef TOOLS_BENCH_ONEDNN_H
#define TOOLS_BENCH_ONEDNN_H

#include "bench/contender.h"

enum { BENCH_ONEDNN_LAYOUTS = 4 };

/* The names of its contenders begin with this. */
#define BENCH_ONEDNN "onednn "

/*
 * "onednn nchw", "onednn nChw8c", "onednn nChw16c", "onednn nhwc", forward and backward, except
 * layouts that oneDNN lacks on this CPU. A ReLU is fused in them; problems with a residual or a leaky
 * ReLU have none.
 */
int bench_onednn_open(scene *s, contender_list *all);

/* "2.6.3", or NULL where it is left out. */
const char *bench_onednn_version(void);

#endif
