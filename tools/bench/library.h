/* The library on one replica, as a contender. */
#ifndef TOOLS_BENCH_LIBRARY_H
#define TOOLS_BENCH_LIBRARY_H

#include "bench/contender.h"

/* "syncbn". Its check fills the scene's `right`, after comparing with the float64 reference. */
int bench_library_open(scene *s, contender *made);

#endif
