/* Compiler options that would break the contract of equal bits. */
#ifndef SBN_PROGRAM_BUILD_OPTIONS_H
#define SBN_PROGRAM_BUILD_OPTIONS_H

/* Refuses options that relax the arithmetic, with a sentence that names the first. NULL: none. */
int sbn__build_options_check(const char *options);

#endif
