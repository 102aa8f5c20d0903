/*
 * How and where files are saved (src/safetensors/draft.h): a private file is private at every moment, the system's
 * calls are made in their order, and each may fail; links, names, and owners that can be kept or not.
 */
#include "safetensors/draft.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif
#include <unistd.h>

#include "base/memory.h"
#include "support/folder.h"
#include "support/system_calls.h"
#include "support/tap.h"
#include "support/wraps.h"

static void make(const char *name, const char *content, mode_t mode)
{
    folder_write(folder_path(name), content, strlen(content));
    must(chmod(folder_path(name), mode), name);
}

static int holds(const char *name, const char *content)
{
    char found[64] = "";
    folder_read(folder_path(name), found, sizeof found - 1);
    return strcmp(found, content) == 0;
}

static mode_t mode_of(const char *name)
{
    struct stat info = {0};
    return lstat(folder_path(name), &info) == 0 ? info.st_mode & 07777 : 0;
}

/* Saves "new text", in two parts; what the system was asked is in system_calls. */
static int save(const char *path)
{
    sbn_draft d;
    system_calls_forget();
    int status = sbn__draft_open(&d, path);
    if (!status)
        status = sbn__draft_write(&d, "new ", 4);
    if (!status)
        status = sbn__draft_write(&d, "text", 4);
    return sbn__draft_close(&d, status);
}

static void check_modes(void)
{
    const mode_t old_mask = umask(026);
    make("private", "old", 0600);
    int status = save(folder_path("private"));
    tap_ok(!status && holds("private", "new text"), "a file is replaced: %s", sbn_last_error());
    tap_ok(strcmp(system_calls, "OWWNMSCRD") == 0,
           "made, written, owner, mode, synced, closed, renamed, its folder synced: %s",
           system_calls);
    tap_ok(system_seen == 0600 && system_last == 0600 && mode_of("private") == 0600,
           "a private one is private: %o while it is written, %o when it is renamed",
           (unsigned)system_seen, (unsigned)system_last);
    make("shared", "old", 0664);
    status = save(folder_path("shared"));
    tap_ok(!status && system_seen == 0600 && system_last == 0664 && mode_of("shared") == 0664,
           "a shared one: %o, then %o", (unsigned)system_seen, (unsigned)system_last);
    status = save(folder_path("fresh"));
    const mode_t fresh = mode_of("fresh");
    tap_ok(!status && system_seen == 0600 && fresh == 0640 &&
               strcmp(system_calls, "OCUOWWMSCRD") == 0,
           "a new one under a umask of 026: %o, then %o: %s", (unsigned)system_seen,
           (unsigned)fresh, system_calls);
    unlink(folder_path("shared"));
    unlink(folder_path("fresh"));
    umask(old_mask);
    status = WITH_FAILURE(WRAP_CLOSE, 1, save(folder_path("fresh")));
    tap_ok(status == SBN_IO_ERROR && strcmp(system_calls, "OU") == 0,
           "a draft that cannot be closed is removed once: %s: %s", system_calls, sbn_last_error());
    status = WITH_FAILURE(WRAP_OPENAT, 1, save(folder_path("fresh")));
    tap_ok(status == SBN_IO_ERROR && strstr(sbn_last_error(), "/fresh: making its draft") &&
               !*system_calls,
           "one that cannot be made is not: %s: %s", system_calls, sbn_last_error());
}

/* The n-th call of a function fails, in replacing "private" or making another file. */
static int save_failing(const char *name, int function, int n, int error)
{
    make("private", "old", 0600);
    wraps_errno = error;
    const int status = WITH_FAILURE(function, n, save(folder_path(name)));
    wraps_errno = EIO;
    return status;
}

/* What each call says; every one of them fails in tests/faults, too. */
static void check_failures(void)
{
    static const struct {
        int function, n;
        const char *words, *left;
    } calls[] = {
        {WRAP_OPENAT, 1, "/private: making its draft", "old"},
        {WRAP_WRITE_FILE, 1, "writing its draft", "old"},
        {WRAP_SYNC, 1, "syncing its draft", "old"},
        {WRAP_CHMOD, 1, "giving its draft a mode", "old"},
        {WRAP_CLOSE, 1, "closing its draft", "old"},
        {WRAP_RENAME, 1, "renaming its draft", "old"},
        {WRAP_SYNC, 2, "it is new, but syncing its folder", "new text"},
    };
    for (size_t i = 0; i < sizeof calls / sizeof *calls; ++i) {
        const int status = save_failing("private", calls[i].function, calls[i].n, EIO);
        tap_ok(status == SBN_IO_ERROR && strstr(sbn_last_error(), calls[i].words) &&
                   holds("private", calls[i].left) && folder_names(folder_root, NULL) == 1,
               "%s fails: expected %s, got %s: %s", wraps_names[calls[i].function], calls[i].words,
               sbn_strerror(status), sbn_last_error());
    }
    tap_ok(save_failing("private", WRAP_WRITE_FILE, 1, ENOMEM) == SBN_OUT_OF_MEMORY,
           "no memory: %s", sbn_last_error());
    tap_ok(!save_failing("private", WRAP_CHMOD, 1, EPERM) && holds("private", "new text"),
           "a file system that gives all files one mode: %s", sbn_last_error());
    tap_ok(!save_failing("private", WRAP_CHMOD, 1, ENOSYS) && holds("private", "new text"),
           "one that has no modes: %s", sbn_last_error());
    system_most = 3;
    tap_ok(!save_failing("private", WRAP_WRITE_FILE, 1, EINTR) && holds("private", "new text"),
           "writing is interrupted, and goes on three bytes at a time: %s", system_calls);
    system_most = SIZE_MAX;
}

/* A handler may interrupt every call that waits, and the saving goes on. */
static void check_interrupted(void)
{
    static const int calls[][2] = {{WRAP_OPEN, 1},  {WRAP_OPENAT, 1}, {WRAP_OPENAT, 2},
                                   {WRAP_CHOWN, 1}, {WRAP_CHMOD, 1},  {WRAP_SYNC, 1},
                                   {WRAP_SYNC, 2},  {WRAP_CLOSE, 1},  {WRAP_CLOSE, 2}};
    static const char *const names[] = {"private", "fresh"};
    for (size_t i = 0; i < 2 * sizeof calls / sizeof *calls; ++i) {
        const char *name = names[i % 2];
        const int *call = calls[i / 2], status = save_failing(name, call[0], call[1], EINTR);
        tap_ok(!status && holds(name, "new text") &&
                   folder_names(folder_root, NULL) == 1 + (int)i % 2,
               "%s is saved with %s %d interrupted: %s, %s", name, wraps_names[call[0]], call[1],
               system_calls, sbn_last_error());
        unlink(folder_path("fresh"));
    }
}

/* Neither owner nor group can be kept: no group gets more than all others had. */
static void check_lost_group(void)
{
    static const mode_t modes[][2] = {{0664, 0644}, {0646, 0644}, {0660, 0600}, {0777, 0777}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        make("private", "old", modes[i][0]);
        wraps_fail(WRAP_CHOWN, 1);
        wraps_fail_again = WRAPS_ALL;
        const int status = save(folder_path("private"));
        wraps_fail(WRAP_CHOWN, 0);
        tap_ok(!status && holds("private", "new text") && mode_of("private") == modes[i][1],
               "of mode %o without its group: %o, %s", (unsigned)modes[i][0],
               (unsigned)mode_of("private"), sbn_strerror(status));
    }
}

#ifdef __linux__
/* Of another user, who may read and write. */
static const struct {
    uint32_t version;
    uint16_t entries[5][4]; /* tag, permissions, whom */
} list = {2,
          {{0x01, 6, 0xffff, 0xffff},
           {0x02, 6, 1234, 0},
           {0x04, 0, 0xffff, 0xffff},
           {0x10, 6, 0xffff, 0xffff},
           {0x20, 0, 0xffff, 0xffff}}};

static int has_list(const char *name)
{
    return getxattr(folder_path(name), "system.posix_acl_access", NULL, 0) >= 0;
}

/* The mode of a file with an access control list shows the list's mask as what its group may do. */
static void check_list(void)
{
    make("private", "old", 0600);
    if (setxattr(folder_path("private"), "system.posix_acl_access", &list, sizeof list, 0)) {
        tap_skip("the file system has no access control lists");
        return;
    }
    const mode_t before = mode_of("private");
    const int status = save(folder_path("private"));
    tap_ok(!status && before == 0660 && mode_of("private") == 0600,
           "of a file with a list: %o after %o", (unsigned)mode_of("private"), (unsigned)before);
}

/* A folder gives new files its list, but not what replaces a file that has none. */
static void check_list_of_folder(void)
{
    static const char name[] = "system.posix_acl_default";
    unlink(folder_path("private"));
    make("private", "old", 0640);
    if (setxattr(folder_root, name, &list, sizeof list, 0)) {
        tap_skip("the file system has no access control lists");
        return;
    }
    int status = save(folder_path("private"));
    tap_ok(!status && !has_list("private") && mode_of("private") == 0640,
           "in a folder with a list: %o, %s list", (unsigned)mode_of("private"),
           has_list("private") ? "a" : "no");
    status = WITH_FAILURE(WRAP_REMOVE_LIST, 1, save(folder_path("private")));
    tap_ok(!status && holds("private", "new text") && mode_of("private") == 0600,
           "its list stays, and gives nothing: %o", (unsigned)mode_of("private"));
    status = save(folder_path("fresh"));
    tap_ok(!status && has_list("fresh") && mode_of("fresh") == 0660,
           "a new file has the folder's: %o", (unsigned)mode_of("fresh"));
    unlink(folder_path("fresh"));
    unlink(folder_path("private"));
    must(removexattr(folder_root, name), name);
}
#endif

/* --- places and owners ------------------------------------------------------------------ */

static void refuse(const char *path, const char *words, const char *what)
{
    const int before = folder_names(folder_root, NULL), status = save(path);
    tap_ok(status == SBN_IO_ERROR && strstr(sbn_last_error(), words) &&
               folder_names(folder_root, NULL) == before,
           "%s: expected %s, got %s: %s", what, words, sbn_strerror(status), sbn_last_error());
}

static void check_links(void)
{
    char name[300];
    make("private", "old", 0640);
    tap_ok(symlink("private", folder_path("link")) == 0 && !save(folder_path("link")) &&
               holds("private", "new text") && mode_of("private") == 0640 &&
               readlink(folder_path("link"), name, sizeof name) == 7,
           "a link is followed, and stays: %s", sbn_last_error());
    unlink(folder_path("link"));
    tap_ok(symlink("none", folder_path("link")) == 0, "a link to nothing");
    refuse(folder_path("link"), "link to nothing", "a link to nothing");
    unlink(folder_path("link"));
    tap_ok(symlink("link", folder_path("link")) == 0, "a link to itself");
    refuse(folder_path("link"), "following its name", "a link to itself");
    unlink(folder_path("link"));
    refuse(folder_path("private/file"), "following its name", "a file as a folder");
    refuse(folder_path("none/file"), "opening its folder", "a folder that is not there");
    refuse(folder_path("none/"), "a file's name", "a name that ends with a slash");
    refuse("", "a file's name", "an empty name");
    refuse(folder_root, "not a regular file", "a folder");
    refuse("/", "a file's name", "the root");
    tap_ok(mkfifo(folder_path("pipe"), 0600) == 0, "a pipe");
    refuse(folder_path("pipe"), "not a regular file", "a pipe");
    unlink(folder_path("pipe"));
    memset(name, 'n', 255);
    name[255] = '\0';
    tap_ok(!save(folder_path(name)) && holds(name, "new text"), "the longest name: %s",
           sbn_last_error());
    unlink(folder_path(name));
    char *here = getcwd(NULL, 0);
    tap_ok(here && chdir(folder_root) == 0 && !save("relative") && holds("relative", "new text") &&
               chdir(here) == 0,
           "a name without a folder: %s", sbn_last_error());
    free(here);
    unlink(folder_path("relative"));
}

/* The whole of a child's work: as another user, in a folder of that user's. */
static int save_as(uid_t user, const char *path)
{
    const pid_t child = fork();
    if (child == 0) {
        const gid_t group = user;
        if (setgroups(1, &group) || setgid(group) || setuid(user))
            _exit(99);
        _exit(save(path) ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_owners(void)
{
    enum { USER = 12345, OTHER = 23456 };
    static const struct {
        const char *what;
        unsigned user, owner, group, mode, owner_after, group_after, mode_after;
    } cases[] = {
        {"root keeps owner and group", 0, USER, OTHER, 0640, USER, OTHER, 0640},
        {"a user keeps a group", USER, OTHER, USER, 0660, USER, USER, 0660},
        {"a group that is not kept gets what all may", USER, USER, OTHER, 0664, USER, USER, 0644},
    };
    if (geteuid() != 0) {
        tap_skip("only root can make other users' files");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct stat info = {0};
        make("private", "old", cases[i].mode);
        const int made = chown(folder_root, cases[i].user, cases[i].user) == 0 &&
                         chown(folder_path("private"), cases[i].owner, cases[i].group) == 0;
        const int result = save_as(cases[i].user, folder_path("private"));
        const int found = stat(folder_path("private"), &info) == 0;
        tap_ok(made && result == 0 && found && holds("private", "new text") &&
                   info.st_uid == cases[i].owner_after && info.st_gid == cases[i].group_after &&
                   ((unsigned)info.st_mode & 07777) == cases[i].mode_after,
               "%s: %d, %u:%u, %o", cases[i].what, result, (unsigned)info.st_uid,
               (unsigned)info.st_gid, (unsigned)info.st_mode & 07777);
    }
    must(chown(folder_root, 0, 0), folder_root);
    char *here = getcwd(NULL, 0);
    must(!here || mkdir(folder_path("own"), 0700) || chown(folder_path("own"), USER, USER) ||
             chdir(folder_path("own")),
         "a user's own folder");
    tap_ok(save_as(USER, "relative") == 0, "below a folder that the user must not search");
    must(unlink("relative") || chdir(here) || rmdir(folder_path("own")), "the end of it");
    free(here);
}

int main(void)
{
    const long handles = sbn__handles_open();
    close(0); /* a descriptor as good as any */
    folder_begin();
    check_modes();
    check_failures();
    check_interrupted();
    check_lost_group();
#ifdef __linux__
    check_list();
    check_list_of_folder();
#endif
    check_links();
    check_owners();
    unlink(folder_path("private"));
    tap_ok(folder_names(folder_root, NULL) == 0 && sbn__handles_open() == handles && dup(1) == 0,
           "no file, no block and no descriptor is left");
    folder_end();
    return tap_done();
}
