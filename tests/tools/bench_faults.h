/*
 * Faults planted under the benchmark (tests/tools/bench_wrong.c): a kernel, a copy or a primitive of oneDNN
 * that is asked for and not run.
 */
#ifndef TESTS_TOOLS_BENCH_FAULTS_H
#define TESTS_TOOLS_BENCH_FAULTS_H

/* Of those from here on, the one that is not run; -1: all are run. */
void bench_skip(long number);

/* How many there have been since. */
long bench_commands(void);

#endif
