#include "safetensors/draft.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "safetensors/retry.h"

static int fail(const char *path, const char *what)
{
    if (errno == ENOMEM)
        return sbn__fail_memory("a file that is saved");
    return sbn__fail(SBN_IO_ERROR, "%s: %s: %s", path, what, strerror(errno));
}

/* --- where it will be -------------------------------------------------------------- */

/* Follows links; the name of a new file is used as it is. */
static int resolve(sbn_draft *d, const char *path)
{
    struct stat info;
    d->path = sbn__allocate(strlen(path) + PATH_MAX);
    if (!d->path)
        return sbn__fail_memory("a file's name");
    strcpy(d->path, path);
    const int found = lstat(path, &info) == 0, is_link = found && S_ISLNK(info.st_mode);
    if (is_link ? realpath(path, d->path) != NULL : found || errno == ENOENT)
        return SBN_SUCCESS;
    return errno != ENOENT
               ? fail(path, "following its name")
               : sbn__fail(SBN_IO_ERROR,
                           "%s: expected a file or a free name, got a link to nothing", path);
}

static int open_folder(sbn_draft *d)
{
    char *slash = strrchr(d->path, '/'), *name = slash ? slash + 1 : d->path;
    const char first = *name;
    d->name = name;
    if (!first)
        return sbn__fail(SBN_IO_ERROR, "\"%s\": expected a file's name", d->path);
    /* The path up to the name, which is put back. */
    *name = '\0';
    SBN_RETRY(d->folder, open(slash ? d->path : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    *name = first;
    return d->folder < 0 ? fail(d->path, "opening its folder") : SBN_SUCCESS;
}

/* --- the draft ----------------------------------------------------------------------- */

/* Creates the draft under an unused name. A call that is interrupted may have used its name. */
static int create(sbn_draft *d, mode_t mode)
{
    for (unsigned i = 0; i < 1000; ++i) {
        snprintf(d->draft, sizeof d->draft, "syncbn-%ld-%u.tmp", (long)getpid(), i);
        d->file = openat(d->folder, d->draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                         mode);
        if (d->file >= 0)
            return SBN_SUCCESS;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    *d->draft = '\0';
    return fail(d->path, "making its draft");
}

/* An interrupted close has closed the file: made again, it might close another thread's. */
static int close_once(int file)
{
    return close(file) != 0 && errno != EINTR;
}

/*
 * The mode of a new file of this process. The umask can be read only by changing it, which other
 * threads would see; so an empty file is made and removed.
 */
static int find_mode(sbn_draft *d)
{
    int status = create(d, 0666);
    if (status)
        return status;
    if (fstat(d->file, &d->info) != 0)
        status = fail(d->path, "asking for a new file's mode");
    const int failed = close_once(d->file), removed = unlinkat(d->folder, d->draft, 0);
    *d->draft = '\0';
    if ((failed || removed) && !status)
        status = fail(d->path, "removing its draft");
    return status;
}

static int look(sbn_draft *d)
{
    if (fstatat(d->folder, d->name, &d->info, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? find_mode(d) : fail(d->path, "asking for its mode");
    if (!S_ISREG(d->info.st_mode))
        return sbn__fail(SBN_IO_ERROR, "%s: it is there and not a regular file", d->path);
    d->replaces = 1;
    return SBN_SUCCESS;
}

int sbn__draft_open(sbn_draft *d, const char *path)
{
    *d = (sbn_draft){.file = -1, .folder = -1};
    int status = resolve(d, path);
    if (!status)
        status = open_folder(d);
    if (!status)
        status = look(d);
    return status ? status : create(d, 0600);
}

int sbn__draft_write(const sbn_draft *d, const void *from, size_t size)
{
    const unsigned char *place = from;
    while (size > 0) {
        ssize_t put;
        SBN_RETRY(put, write(d->file, place, size));
        if (put < 0)
            return fail(d->path, "writing its draft");
        place += put;
        size -= (size_t)put;
    }
    return SBN_SUCCESS;
}

/* --- the end ------------------------------------------------------------------------- */

/* Removes the access control list that the draft has from its folder. 1: it may have failed, or the old file has one. */
static int drop_list(const sbn_draft *d)
{
#ifdef __linux__
    static const char list[] = "system.posix_acl_access";
    return d->replaces &&
           ((fremovexattr(d->file, list) < 0 && errno != ENODATA && errno != ENOTSUP) ||
            getxattr(d->path, list, NULL, 0) >= 0 || (errno != ENODATA && errno != ENOTSUP));
#else
    (void)d;
    return 0;
#endif
}

/*
 * Sets the owner before the mode, which must not apply to another group. If the group cannot be kept, the group and
 * all others get the permissions that both had; in place of a list, whose mask is the mode's group, they get none.
 */
static int give_mode(const sbn_draft *d)
{
    mode_t mode = d->info.st_mode & 0777;
    int result = 0;
    if (d->replaces)
        SBN_RETRY(result, fchown(d->file, d->info.st_uid, d->info.st_gid));
    if (result != 0)
        SBN_RETRY(result, fchown(d->file, (uid_t)-1, d->info.st_gid));
    if (drop_list(d)) {
        mode &= 0700;
    } else if (result != 0) {
        const mode_t both = mode >> 3 & mode & 07;
        mode = (mode & 0700) | both << 3 | both;
    }
    SBN_RETRY(result, fchmod(d->file, mode));
    /* The file system gives all files one owner and one mode, or has no modes. */
    return result == 0 || errno == EPERM || errno == ENOSYS || errno == ENOTSUP
               ? SBN_SUCCESS
               : fail(d->path, "giving its draft a mode");
}

static int rename_draft(sbn_draft *d)
{
    if (renameat(d->folder, d->draft, d->folder, d->name) != 0)
        return fail(d->path, "renaming its draft");
    *d->draft = '\0';
    int result;
    SBN_RETRY(result, fsync(d->folder));
    /* Some file systems cannot sync a folder. */
    if (result != 0 && errno != EINVAL)
        return fail(d->path, "it is new, but syncing its folder");
    return SBN_SUCCESS;
}

int sbn__draft_close(sbn_draft *d, int status)
{
    int result = 0;
    if (!status)
        status = give_mode(d);
    if (!status)
        SBN_RETRY(result, fsync(d->file));
    if (result != 0)
        status = fail(d->path, "syncing its draft");
    if (*d->draft && close_once(d->file) && !status)
        status = fail(d->path, "closing its draft");
    if (!status)
        status = rename_draft(d);
    if (*d->draft)
        unlinkat(d->folder, d->draft, 0);
    if (d->folder >= 0)
        close(d->folder);
    sbn__free(d->path);
    return status;
}
