/*
 * The cache on disk (src/program/cache.h): what is stored can be loaded; files that are damaged, of another key or of
 * another user are not; folders that others may write to are not used; and processes may write at the same time.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/cache.h"
#include "base/memory.h"
#include "support/fixture.h"
#include "support/folder.h"

enum { SIZE = 100000, PROCESSES = 4, ROUNDS = 300 };

static unsigned char contents[SIZE];

/* Until the next call. */
static sbn_bytes bytes_of(const char *text)
{
    static unsigned char copy[256];
    const int length = snprintf((char *)copy, sizeof copy, "%s", text);
    return (sbn_bytes){copy, (size_t)length};
}

/* Is the block stored for a key what it should be? */
static int holds(int folder, const char *name, size_t size)
{
    const sbn_bytes key = bytes_of(name);
    sbn_bytes found;
    const int loaded = sbn__cache_load(folder, "program", &key, &found);
    const int good = loaded && found.size == size && memcmp(found.at, contents, size) == 0;
    if (loaded != (found.at != NULL))
        tap_ok(0, "%s: no value, and a block, or one without", name);
    sbn__bytes_free(&found);
    return good;
}

static int store(int folder, const char *name, size_t size)
{
    const sbn_bytes key = bytes_of(name), binary = {contents, size};
    return sbn__cache_store(folder, "program", &key, &binary);
}

static void stored(int folder, const char *where)
{
    char file[512];
    struct stat s;
    struct rlimit usual;
    tap_ok(!holds(folder, "a key", 0), "a key that was not stored");
    /* A process of the same number has left a file. */
    snprintf(file, sizeof file, "%s/%ld.0.tmp", where, (long)getpid());
    folder_write(file, contents, 1);
    store(folder, "a key", SIZE);
    store(folder, "an empty binary", 0);
    tap_ok(holds(folder, "a key", SIZE) && holds(folder, "an empty binary", 0), "what was stored");
    tap_ok(!holds(folder, "a kez", SIZE) && !holds(folder, "a ke", SIZE), "other keys");
    store(folder, "a key", SIZE / 2);
    tap_ok(holds(folder, "a key", SIZE / 2), "stored anew");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &usual);
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){SIZE / 4, usual.rlim_max});
    store(folder, "a key", SIZE);
    setrlimit(RLIMIT_FSIZE, &usual);
    tap_ok(holds(folder, "a key", SIZE / 2), "what cannot be written whole replaces nothing");
    tap_ok(folder_names(where, file) == 2 && stat(file, &s) == 0 && (s.st_mode & 0777) == 0600,
           "a file each, of this user alone");
}

/* A file of one key. */
static int folder_of_one;
enum { SHORT = 300 };

static int holds_one(void)
{
    return holds(folder_of_one, "one", SHORT);
}

static void store_one(void)
{
    store(folder_of_one, "one", SHORT);
}

static void damaged(void)
{
    char path[512], others_path[512];
    folder_of_one = sbn__cache_open(folder_path("damaged"), 1);
    store_one();
    folder_names(folder_path("damaged"), path);
    folder_damage(path, holds_one, store_one);

    /* Another key's file in this one's place: as if their hashes were equal. */
    const int others = sbn__cache_open(folder_path("others"), 1);
    store(others, "two", SHORT);
    folder_names(folder_path("others"), others_path);
    tap_ok(rename(others_path, path) == 0 && !holds_one(), "another key's file");
    store_one();
    tap_ok(holds_one(), "stored anew in its place");
    sbn__cache_close(folder_of_one);
    sbn__cache_close(others);
}

/* Links, folders and pipes in an entry's place are neither read nor waited for. */
static void foreign(void)
{
    char path[512];
    const char *where = folder_path("foreign"), *target = folder_path("target");
    const int folder = sbn__cache_open(where, 1);
    store(folder, "one", SIZE);
    folder_names(where, path);
    tap_ok(rename(path, target) == 0 && symlink(target, path) == 0 && !holds(folder, "one", SIZE),
           "a link to a right file");
    unlink(path);
    /* Without a writer, opening it would wait for ever: the alarm ends the program. */
    alarm(60);
    tap_ok(mkfifo(path, 0600) == 0 && !holds(folder, "one", SIZE), "a pipe that nobody writes");
    alarm(0);
    store(folder, "one", SIZE);
    tap_ok(holds(folder, "one", SIZE), "stored in the pipe's place");
    unlink(path);
    tap_ok(mkdir(path, 0700) == 0 && !holds(folder, "one", SIZE), "a folder");
    tap_ok(!store(folder, "one", SIZE) && folder_names(where, NULL) == 1,
           "which stays, and no temporary file beside it");
    rmdir(path);
    store(folder, "one", SIZE);
    if (geteuid() == 0)
        tap_ok(chown(path, 1, (gid_t)-1) == 0 && !holds(folder, "one", SIZE),
               "another user's file");
    else
        tap_skip("only root can make another user's file");
    sbn__cache_close(folder);
}

static int opens(const char *path)
{
    const int folder = sbn__cache_open(path, 1);
    sbn__cache_close(folder);
    return folder >= 0;
}

static void folders(void)
{
    static const struct {
        mode_t mode;
        int opens;
        const char *what;
    } modes[] = {{0770, 0, "a group may write to"},
                 {0702, 0, "all may write to"},
                 {0755, 1, "all may read"}};
    struct stat s;
    const char *open_path = folder_path("open"), *file = folder_path("file");
    tap_ok(!opens(""), "no name: no cache");
    tap_ok(!opens(folder_path("not/there")), "a folder in one that is not there");
    tap_ok(opens(folder_path("made")) && stat(folder_path("made"), &s) == 0 &&
               (s.st_mode & 0777) == 0700,
           "made, for this user alone");
    mkdir(open_path, 0700);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i)
        tap_ok(chmod(open_path, modes[i].mode) == 0 && opens(open_path) == modes[i].opens,
               "a folder that %s", modes[i].what);
    if (geteuid() == 0 && chown(open_path, 1, (gid_t)-1) == 0)
        tap_ok(!opens(open_path), "another user's folder");
    else
        tap_skip("only root can make another user's folder");
    tap_ok(symlink(folder_path("made"), folder_path("link")) == 0 && !opens(folder_path("link")),
           "a link to a folder");
    folder_write(file, contents, 10);
    tap_ok(!opens(file), "a file");
    tap_ok(!store(-1, "a key", SIZE) && !holds(-1, "a key", SIZE), "no folder at all");
}

static void default_folder(void)
{
    struct stat s;
    const char *home = folder_path("home");
    setenv("XDG_CACHE_HOME", folder_path("xdg"), 1);
    tap_ok(opens(NULL) && stat(folder_path("xdg/syncbn"), &s) == 0, "$XDG_CACHE_HOME/syncbn");
    setenv("XDG_CACHE_HOME", "relative", 1);
    tap_ok(!opens(NULL), "a relative $XDG_CACHE_HOME");
    unsetenv("XDG_CACHE_HOME");
    mkdir(home, 0755);
    setenv("HOME", home, 1);
    tap_ok(opens(NULL) && stat(folder_path("home/.cache/syncbn"), &s) == 0, "~/.cache/syncbn");
    unsetenv("HOME");
    tap_ok(!opens(NULL), "neither");
}

enum { OPENED = 10, NOT_OPENED = 11, NOT_SECURE = 12 };

/* In a program that runs with another user's rights, the environment does not choose the folder. */
static void other_rights(const char *program)
{
    char command[2048];
    const char *copy = folder_path("program"), *folder = folder_path("chosen");
    int status = -1;
    if (geteuid() != 0 || *tool()) {
        tap_skip("only root can make a program that runs with another user's rights, and no tool "
                 "can watch it");
        return;
    }
    snprintf(command, sizeof command, "cp '%s' '%s' && chmod 0711 '%s'", program, copy,
             folder_root);
    const int made = system(command) == 0 && chown(copy, 2, 2) == 0 && chmod(copy, 04755) == 0 &&
                     mkdir(folder, 0700) == 0 && chown(folder, 2, 2) == 0;
    setenv("XDG_CACHE_HOME", folder, 1);
    const pid_t child = fork();
    if (child == 0) {
        if (setgid(1) == 0 && setuid(1) == 0)
            execl(copy, copy, "open", (char *)NULL);
        _exit(99);
    }
    waitpid(child, &status, 0);
    const int result = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (result == NOT_SECURE)
        tap_skip("the folder's file system gives programs no rights");
    else
        tap_ok(made && result == NOT_OPENED, "with another user's rights: %d", result);
}

/* Each process writes its own length of the contents; a reader finds one of them or nothing. */
static void at_once(void)
{
    const char *where = folder_path("at_once");
    const int folder = sbn__cache_open(where, 1);
    int good = 1;
    for (int p = 0; p < PROCESSES; ++p)
        if (fork() == 0) {
            int wrong = 0;
            for (int i = 0; i < ROUNDS; ++i) {
                const sbn_bytes key = bytes_of("shared");
                sbn_bytes found;
                store(folder, "shared", SIZE - (size_t)p);
                if (!sbn__cache_load(folder, "program", &key, &found) || found.size > SIZE ||
                    found.size <= SIZE - PROCESSES || memcmp(found.at, contents, found.size) != 0)
                    ++wrong;
                sbn__bytes_free(&found);
            }
            _exit(wrong != 0);
        }
    for (int p = 0; p < PROCESSES; ++p) {
        int status = 1;
        wait(&status);
        good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    tap_ok(good, "%d processes write and read one key %d times", PROCESSES, ROUNDS);
    tap_ok(folder_names(where, NULL) == 1, "no temporary file is left");
    sbn__cache_close(folder);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return !getauxval(AT_SECURE) ? NOT_SECURE : opens(NULL) ? OPENED : NOT_OPENED;
    const long handles = sbn__handles_open();
    folder_begin();
    for (size_t i = 0; i < SIZE; ++i)
        contents[i] = (unsigned char)(i * i >> 3);
    const char *where = folder_path("stored");
    const int folder = sbn__cache_open(where, 1);
    close(0); /* the lowest number is a file's, too */
    stored(folder, where);
    sbn__cache_close(folder);
    damaged();
    foreign();
    folders();
    default_folder();
    other_rights(argv[0]);
    at_once();
    tap_ok(sbn__handles_open() == handles && dup(1) == 0, "no block and no file is left");
    folder_end();
    return tap_done();
}
