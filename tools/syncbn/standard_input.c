#include "syncbn/standard_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "syncbn/safe_text.h"

static int fail(const char *what)
{
    fprintf(stderr, "syncbn: standard input: %s: %s\n", what, strerror(errno));
    return EXIT_FAILED;
}

/* A descriptor of a new file without a name, or -1. */
static int open_nameless(void)
{
    char path[4096];
    const char *folder = getenv("TMPDIR");
    const int length = snprintf(path, sizeof path, "%s/syncbn.XXXXXX",
                                folder && *folder ? folder : "/tmp");
    if (length < 0 || (size_t)length >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    const int file = mkstemp(path);
    if (file >= 0)
        unlink(path);
    return file;
}

/* Returns what failed, or NULL. */
static const char *copy_to(int file)
{
    static char bytes[1 << 16];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes), put = 0;
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? "reading it" : NULL;
        for (const char *at = bytes; got > 0; at += put, got -= put) {
            put = write(file, at, (size_t)got);
            if (put < 0 && errno != EINTR)
                return "copying it to a temporary file";
            put = put < 0 ? 0 : put;
        }
    }
}

int standard_input_path(char path[STANDARD_INPUT_PATH])
{
    struct stat info;
    int file = STDIN_FILENO;
    if (fstat(STDIN_FILENO, &info))
        return fail("reading it");
    if (!S_ISREG(info.st_mode) || lseek(STDIN_FILENO, 0, SEEK_CUR) != 0) {
        file = open_nameless();
        if (file < 0)
            return fail("making a temporary file for it");
        const char *failed = copy_to(file);
        if (failed)
            return fail(failed);
    }
    snprintf(path, STANDARD_INPUT_PATH, "/dev/fd/%d", file);
    return 0;
}
