/*
 * Headers that are made to take memory or time: each is read, or refused, within twice its size of
 * memory. The time is not measured, but an alarm ends what does not end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/folder.h"
#include "support/vectors.h"

enum { MILLION = 1000000, TENSORS = MILLION + 3 /* a prime */, ALARM = 300 };

static const char *path;
static char *text;
static size_t length;

static void put(const char *what)
{
    const size_t size = strlen(what);
    memcpy(text + length, what, size + 1);
    length += size;
}

#define FIELDS "{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":"

/* A name's number. In no order: multiplying by an odd number goes through all of them. */
static unsigned number(size_t i)
{
    return (unsigned)i * 2654435761u;
}

static void keys(void)
{
    for (size_t i = 0; i < 2 * MILLION; ++i)
        length += (size_t)sprintf(text + length, "%s\"%x\":\"\"", i ? "," : "", number(i));
}

/* Tensors in the order neither of their names nor of their places. */
static void tensors(void)
{
    for (size_t i = 0; i < TENSORS; ++i) {
        const size_t place = i * 618033 % TENSORS;
        length += (size_t)sprintf(text + length, "%s\"%x\":" FIELDS "[%zu,%zu]}", i ? "," : "",
                                  number(i), place, place + 1);
    }
}

/* 1000 zeros in front of each. */
static void shared_names(void)
{
    for (size_t i = 0; i < 50000; ++i)
        length += (size_t)sprintf(text + length, "%s\"%01000d%x\":\"\"", i ? "," : "", 0,
                                  number(i));
}

static const struct {
    const char *what;
    /* The header: between two texts another one many times, or what a function writes. */
    const char *head, *many;
    size_t times;
    void (*make)(void);
    const char *tail;
    size_t data;       /* bytes; and as many tensors where it is read */
    const char *words; /* of the sentence; NULL: it is read */
} cases[] = {
    {"a key of 64 MB", "{\"", "k", 64 * MILLION, NULL, "\":" FIELDS "[0,1]}}", 1, NULL},
    {"a key of 10 million escapes", "{\"", "\\u20ac", 10 * MILLION, NULL, "\":" FIELDS "[0,1]}}", 1,
     NULL},
    {"10 MB of {},", "{\"a\":[", "{},", 10 * MILLION / 3, NULL, "{}]}", 0, "\"a\""},
    {"10 MB of {}, in a shape", "{\"a\":{\"shape\":[", "{},", 10 * MILLION / 3, NULL, "{}]}}", 0,
     "shape"},
    {"40 million extents", "{\"a\":{\"dtype\":\"U8\",\"shape\":[1", ",1", 40 * MILLION, NULL,
     "],\"data_offsets\":[0,1]}}", 1, NULL},
    {"2 million keys", "{\"__metadata__\":{", NULL, 0, keys, "}}", 0, NULL},
    {"2 million keys, one of them twice", "{\"__metadata__\":{", NULL, 0, keys,
     ",\"9e3779b1\":\"\"}}", 0, "\"9e3779b1\" is a duplicate"},
    /* More than there is room for, but then some are the same. */
    {"10 million empty keys", "{\"a\":" FIELDS "[0,1]},\"__metadata__\":{\"\":\"\"", ",\"\":\"\"",
     10 * MILLION, NULL, "}}", 1, "duplicate"},
    /* Each has the shortest text that there is. */
    {"a million tensors without names", "{\"\":" FIELDS "[0,1]}", ",\"\":" FIELDS "[0,1]}", MILLION,
     NULL, "}", 1, "overlaps another tensor"},
    {"a million tensors", "{", NULL, 0, tensors, "}", TENSORS, NULL},
    {"keys with 1000 bytes in common", "{\"__metadata__\":{", NULL, 0, shared_names, "}}", 0, NULL},
    {"50 million brackets", "{\"a\":", "[", 50 * MILLION, NULL, "", 0, "\"a\""},
    {"a million brackets in a shape", "{\"a\":{\"shape\":", "[", MILLION, NULL, "", 0, "shape"},
};

/* This process may take twice the header's size more, and a MB; a sanitizer takes far more. */
static int limit_memory(size_t size)
{
    char pages[64] = "";
    folder_read("/proc/self/statm", pages, sizeof pages - 1);
    const size_t now = strtoul(pages, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit = {now + 2 * size + MILLION, RLIM_INFINITY};
    return !*tool() && (now == 0 || setrlimit(RLIMIT_AS, &limit) != 0);
}

static int read_limited(size_t count, const char *words)
{
    sbn_tensor_file file;
    alarm(ALARM);
    if (limit_memory(length))
        return 2;
    const int status = sbn__tensor_file_open(&file, path);
    if (status == SBN_SUCCESS && !words && file.header.count == count) {
        sbn__tensor_file_close(&file);
        return 0;
    }
    if (status == SBN_INVALID_FILE && words && strstr(sbn_last_error(), words))
        return 0;
    printf("# %s: %s\n", sbn_strerror(status), sbn_last_error());
    fflush(stdout);
    return 1;
}

int main(void)
{
    folder_begin();
    path = folder_path("header");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        int status = -1;
        text = malloc(101 * MILLION);
        if (!text)
            return tap_skip_all("there is no memory for a large header");
        length = 0;
        put(cases[i].head);
        for (size_t n = 0; n < cases[i].times; ++n)
            put(cases[i].many);
        if (cases[i].make)
            cases[i].make();
        put(cases[i].tail);
        vectors_write(path, text, length, 0, cases[i].data);
        free(text);
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0)
            _exit(read_limited(cases[i].data, cases[i].words));
        waitpid(child, &status, 0);
        tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
               "%s, %zu bytes: %s within twice its memory; %s %d", cases[i].what, length,
               cases[i].words ? "refused" : "read", WIFEXITED(status) ? "exit" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
        unlink(path);
    }
    folder_end();
    return tap_done();
}
