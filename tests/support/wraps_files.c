/* Opening, asking about and reading files; what writes them is in system_calls.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/tap.h"
#include "support/wraps.h"

static int fails(int function, int error)
{
    if (!wraps_fails(function))
        return 0;
    errno = error;
    return 1;
}

WRAP(int, open, (const char *path, int flags, mode_t mode))
{
    if (!(flags & O_CLOEXEC))
        tap_ok(0, "%s is opened without O_CLOEXEC", path);
    const int file = fails(WRAP_OPEN, EMFILE) ? -1 : __real_open(path, flags, mode);
    wraps_hold(WRAPS_DESCRIPTORS, file >= 0);
    return file;
}

WRAP(ssize_t, read, (int file, void *to, size_t size))
{
    return fails(WRAP_READ_FILE, EIO) ? -1 : __real_read(file, to, size);
}

WRAP(ssize_t, pread, (int file, void *to, size_t size, off_t from))
{
    return fails(WRAP_PREAD, EIO) ? -1 : __real_pread(file, to, size, from);
}

WRAP(int, fstat, (int file, struct stat *info))
{
    return fails(WRAP_STAT, EIO) ? -1 : __real_fstat(file, info);
}

WRAP(int, fstatat, (int folder, const char *name, struct stat *info, int flags))
{
    return fails(WRAP_STAT_AT, EIO) ? -1 : __real_fstatat(folder, name, info, flags);
}

WRAP(int, lstat, (const char *path, struct stat *info))
{
    return fails(WRAP_STAT_LINK, EIO) ? -1 : __real_lstat(path, info);
}

WRAP(int, mkdir, (const char *path, mode_t mode))
{
    return fails(WRAP_MKDIR, ENOSPC) ? -1 : __real_mkdir(path, mode);
}

WRAP(char *, realpath, (const char *path, char *to))
{
    return fails(WRAP_REAL_PATH, ELOOP) ? NULL : __real_realpath(path, to);
}
