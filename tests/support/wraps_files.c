/* Opening, asking about and reading files; what writes them is in system_calls.c. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tap.h"
#include "support/wraps.h"

WRAP(int, open, (const char *path, int flags, mode_t mode))
{
    /* gcov's files are its own. */
    if (!(flags & O_CLOEXEC) && !strstr(path, ".gcda"))
        tap_ok(0, "%s is opened without O_CLOEXEC", path);
    const int file = wraps_fails(WRAP_OPEN) ? -1 : __real_open(path, flags, mode);
    wraps_held[WRAPS_DESCRIPTORS] += file >= 0;
    return file;
}

WRAP_CALL(ssize_t, read, WRAP_READ_FILE, -1, (int file, void *to, size_t size), (file, to, size))
/* What is read from a place may come in parts. */
WRAP_CALL(ssize_t, pread, WRAP_PREAD, -1, (int file, void *to, size_t size, off_t from),
          (file, to, size < 1000 ? size : 1000, from))
WRAP_CALL(int, fstat, WRAP_STAT, -1, (int file, struct stat *info), (file, info))
WRAP_CALL(int, fstatat, WRAP_STAT_AT, -1,
          (int folder, const char *name, struct stat *info, int flags), (folder, name, info, flags))
WRAP_CALL(int, lstat, WRAP_STAT_LINK, -1, (const char *path, struct stat *info), (path, info))
WRAP_CALL(int, mkdir, WRAP_MKDIR, -1, (const char *path, mode_t mode), (path, mode))
WRAP_CALL(char *, realpath, WRAP_REAL_PATH, NULL, (const char *path, char *to), (path, to))
