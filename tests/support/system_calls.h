/* The system's calls that save a file, in their order; they can be made to fail. LDFLAGS have $(system_wraps). */
#pragma once

#include <stddef.h>
#include <sys/stat.h>

/* Each call's letter: Openat, Write, fchowN, fchMod, fSync of a file or folDer, Close of a file, Renameat, Unlinkat. */
extern char system_calls[64];

/* How many bytes a write takes. */
extern size_t system_most;

/* All modes that a file had when it was made and written; the one it had when it was renamed. */
extern mode_t system_seen, system_last;

/* Forgets the calls and the modes. */
void system_calls_forget(void);
