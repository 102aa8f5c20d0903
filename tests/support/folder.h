/* A temporary folder of a test, and the files in it. */
#pragma once

#include <stddef.h>

extern char folder_root[96];

/* Makes the folder in $TMPDIR; it ends the program where that fails. */
void folder_begin(void);

/* Removes all that is in a folder of this test, and the folder. */
void folder_end(void);

/* The path of a name in it, until there have been so many more. */
enum { FOLDER_PATHS = 16 };
const char *folder_path(const char *name);

/* How many names a folder has but "." and ".."; `last` (or NULL) is one's path. */
int folder_names(const char *folder, char last[512]);

/* Writes a file with the usual mode; reads up to `most` bytes: how many there were. */
void folder_write(const char *path, const void *bytes, size_t size);
size_t folder_read(const char *path, void *bytes, size_t most);

/*
 * Damages a file of up to 1023 bytes: cut to every length, a bit of each byte changed, a byte too many,
 * other contents, writable for others. One check each, that `taken`, which is 1
 * where the file serves, says 0; `make` makes it right again. The file is gone in the end.
 */
void folder_damage(const char *path, int (*taken)(void), void (*make)(void));
