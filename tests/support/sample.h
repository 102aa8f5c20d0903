/*
 * Long lists of problems: a test takes a sample of them, and all of them where CHECK=full is set, as
 * .ci/run does.
 */
#ifndef TESTS_SUPPORT_SAMPLE_H
#define TESTS_SUPPORT_SAMPLE_H

int sample_only(void);

#endif
