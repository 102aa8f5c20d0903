/* Where files are saved (src/safetensors/draft.h): links, names, and owners that can be kept or not. */
#include "support/draft_files.h"

#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <syncbn.h>

#include "support/folder.h"
#include "support/tap.h"

static void refuse(const char *path, int expected, const char *words, const char *what)
{
    const int before = folder_names(folder_root, NULL), status = draft_save(path);
    tap_ok(status == expected && strstr(sbn_last_error(), words) &&
               folder_names(folder_root, NULL) == before,
           "%s: expected %s (%s), got %s: %s", what, sbn_strerror(expected), words,
           sbn_strerror(status), sbn_last_error());
}

static void check_links(void)
{
    char name[300], path[400];
    draft_make("private", "old", 0640);
    tap_ok(symlink("private", folder_path("link")) == 0 && !draft_save(folder_path("link")) &&
               draft_holds("private", "new text") && draft_mode_of("private") == 0640 &&
               readlink(folder_path("link"), name, sizeof name) == 7,
           "a link is followed, and stays: %s", sbn_last_error());
    unlink(folder_path("link"));
    tap_ok(symlink("none", folder_path("link")) == 0, "a link to nothing");
    refuse(folder_path("link"), SBN_IO_ERROR, "link to nothing", "a link to nothing");
    unlink(folder_path("link"));
    tap_ok(symlink("link", folder_path("link")) == 0, "a link to itself");
    refuse(folder_path("link"), SBN_IO_ERROR, "following its name", "a link to itself");
    unlink(folder_path("link"));
    refuse(folder_path("private/file"), SBN_IO_ERROR, "following its name", "a file as a folder");
    refuse(folder_path("none/file"), SBN_IO_ERROR, "opening its folder",
           "a folder that is not there");
    refuse(folder_path("none/"), SBN_IO_ERROR, "a file's name", "a name that ends with a slash");
    refuse("", SBN_IO_ERROR, "a file's name", "an empty name");
    refuse(folder_root, SBN_IO_ERROR, "not a regular file", "a folder");
    refuse("/", SBN_IO_ERROR, "a file's name", "the root");
    tap_ok(mkfifo(folder_path("pipe"), 0600) == 0, "a pipe");
    refuse(folder_path("pipe"), SBN_IO_ERROR, "not a regular file", "a pipe");
    unlink(folder_path("pipe"));
    memset(name, 'n', 255);
    name[255] = '\0';
    snprintf(path, sizeof path, "%s", folder_path(name));
    tap_ok(!draft_save(path) && draft_holds(name, "new text"), "the longest name: %s",
           sbn_last_error());
    unlink(path);
    char *here = getcwd(NULL, 0);
    tap_ok(here && chdir(folder_root) == 0 && !draft_save("relative") &&
               draft_holds("relative", "new text") && chdir(here) == 0,
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
        _exit(draft_save(path) ? 1 : 0);
    }
    int status = -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void check_owners(void)
{
    enum { USER = 12345, OTHER = 23456 };
    static const struct {
        const char *what;
        uid_t user, owner;
        gid_t group;
        mode_t mode;
        uid_t owner_after;
        gid_t group_after;
        mode_t mode_after;
    } cases[] = {
        {"root keeps owner and group", 0, USER, OTHER, 0640, USER, OTHER, 0640},
        {"a user keeps a group", USER, OTHER, USER, 0660, USER, USER, 0660},
        {"a group that is not kept gets what all may", USER, USER, OTHER, 0664, USER, USER, 0644},
        {"nor do all get more than it had", USER, USER, OTHER, 0646, USER, USER, 0644},
        {"nothing for a group alone", USER, USER, OTHER, 0660, USER, USER, 0600},
    };
    if (geteuid() != 0) {
        tap_skip("only root can make other users' files");
        return;
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        struct stat info = {0};
        draft_make("private", "old", cases[i].mode);
        const int made = chown(folder_root, cases[i].user, cases[i].user) == 0 &&
                         chown(folder_path("private"), cases[i].owner, cases[i].group) == 0 &&
                         chmod(folder_path("private"), cases[i].mode) == 0;
        const int result = save_as(cases[i].user, folder_path("private"));
        const int found = stat(folder_path("private"), &info) == 0;
        tap_ok(made && result == 0 && found && draft_holds("private", "new text") &&
                   info.st_uid == cases[i].owner_after && info.st_gid == cases[i].group_after &&
                   (info.st_mode & 07777) == cases[i].mode_after,
               "%s: %d, %u:%u, %o", cases[i].what, result, (unsigned)info.st_uid,
               (unsigned)info.st_gid, (unsigned)info.st_mode & 07777);
    }
    if (chown(folder_root, 0, 0) != 0)
        perror(folder_root);
}

int main(void)
{
    draft_begin();
    check_links();
    check_owners();
    return draft_end();
}
