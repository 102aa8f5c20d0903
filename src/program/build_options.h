/* Compiler options that would break the contract of equal bits. */
#pragma once

/* Characters. */
enum { SBN_MAX_BUILD_OPTIONS = 1000 };

/* Refuses options that are too long or relax the arithmetic; the sentence has the first. */
int sbn__build_options_check(const char *options);
