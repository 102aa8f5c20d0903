#include "support/system_calls.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "support/tap.h"
#include "support/wraps.h"

char system_calls[64];
size_t system_most = SIZE_MAX;
mode_t system_seen, system_last;

void system_calls_forget(void)
{
    memset(system_calls, 0, sizeof system_calls);
    system_seen = system_last = 0;
}

static int fails(char letter, int function)
{
    const size_t used = strlen(system_calls);
    if (wraps_fails(function))
        return 1;
    if (used + 1 < sizeof system_calls)
        system_calls[used] = letter;
    return 0;
}

static struct stat status_of(int file)
{
    struct stat info = {0};
    wraps_pause();
    if (fstat(file, &info) != 0)
        perror("fstat");
    wraps_resume();
    return info;
}

WRAP(int, openat, (int folder, const char *name, int flags, mode_t mode))
{
    if (!(flags & O_CLOEXEC))
        tap_ok(0, "%s is opened without O_CLOEXEC", name);
    const int file = fails('O', WRAP_OPENAT) ? -1 : __real_openat(folder, name, flags, mode);
    if (file >= 0)
        system_seen |= status_of(file).st_mode & 0777;
    wraps_held[WRAPS_DESCRIPTORS] += file >= 0;
    return file;
}

WRAP(ssize_t, write, (int file, const void *from, size_t size))
{
    system_seen |= status_of(file).st_mode & 0777;
    return fails('W', WRAP_WRITE_FILE)
               ? -1
               : __real_write(file, from, size < system_most ? size : system_most);
}

#define WRAP_LETTER(f, letter, function, parameters, arguments) \
    WRAP(int, f, parameters) \
    { \
        return fails(letter, function) ? -1 : __real_##f arguments; \
    }

WRAP_LETTER(fchown, 'N', WRAP_CHOWN, (int file, uid_t owner, gid_t group), (file, owner, group))
WRAP_LETTER(fchmod, 'M', WRAP_CHMOD, (int file, mode_t mode), (file, mode))
WRAP_LETTER(fsync, S_ISDIR(status_of(file).st_mode) ? 'D' : 'S', WRAP_SYNC, (int file), (file))

#ifdef __linux__
WRAP(int, fremovexattr, (int file, const char *name))
{
    return wraps_fails(WRAP_REMOVE_LIST) ? -1 : __real_fremovexattr(file, name);
}
#endif

WRAP(int, close, (int file))
{
    const int folder = S_ISDIR(status_of(file).st_mode);
    const int result = __real_close(file);
    wraps_held[WRAPS_DESCRIPTORS] -= result == 0;
    return !folder && fails('C', WRAP_CLOSE) ? -1 : result;
}

WRAP(int, renameat, (int from, const char *old, int to, const char *name))
{
    struct stat info = {0};
    wraps_pause();
    system_last = fstatat(from, old, &info, 0) == 0 ? info.st_mode & 0777 : 0;
    wraps_resume();
    return fails('R', WRAP_RENAME) ? -1 : __real_renameat(from, old, to, name);
}

WRAP(int, unlinkat, (int folder, const char *name, int flags))
{
    /* Calls before the first write do not matter. */
    system_seen = 0;
    return fails('U', WRAP_UNLINK) ? -1 : __real_unlinkat(folder, name, flags);
}
