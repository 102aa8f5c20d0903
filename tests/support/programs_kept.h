/*
 * Programs that any group has built stay built until programs_release, as if one more group used them:
 * tests that make a group for each problem compile each program once. A test that links this gives the
 * linker $(programs_wrap), and makes its groups in one thread.
 */
#ifndef TESTS_SUPPORT_PROGRAMS_KEPT_H
#define TESTS_SUPPORT_PROGRAMS_KEPT_H

void programs_release(void);

#endif
