#include "syncbn/json_output.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <syncbn.h>

#include "base/text.h"
#include "syncbn/safe_text.h"

/* A file that is removed where the program ends for want of memory; NULL: none. */
static const char *unfinished;

static void *allocate_or_exit(size_t size)
{
    void *block = malloc(size);
    if (!block) {
        if (unfinished)
            unlink(unfinished);
        fputs("syncbn: the host has no memory left for a report in JSON\n", stderr);
        exit(EXIT_FAILED);
    }
    return block;
}

void json_memory_or_exit(void)
{
    json_set_alloc_funcs(allocate_or_exit, free);
}

json_t *json_number_or_name(double value)
{
    return isfinite(value) ? json_real(value)
                           : json_string(isnan(value) ? "nan"
                                         : value > 0  ? "inf"
                                                      : "-inf");
}

json_t *json_text(const char *text)
{
    char *valid = strcpy(allocate_or_exit(strlen(text) + 1), text);
    for (char *at = valid; *at;) {
        uint32_t character;
        const size_t length = sbn__utf8_decode(at, strnlen(at, 4), &character);
        *at = length ? *at : '?';
        at += length ? length : 1;
    }
    json_t *string = json_string(valid);
    free(valid);
    return string;
}

static int fail(const json_output *out, int why)
{
    return failure("--json %s: it cannot be written: %s", out->path, strerror(why));
}

/* Names a temporary file beside the one to be written; checks that it can be made, and leaves none behind. */
static int try_temporary(json_output *out)
{
    enum { DIGITS = 24 };
    out->target = realpath(out->path, NULL);
    out->target = out->target ? out->target : strdup(out->path);
    const size_t size = out->target ? strlen(out->target) + DIGITS : 0;
    out->temporary = malloc(size);
    if (!size || !out->temporary)
        return 1;
    snprintf(out->temporary, size, "%s.%ld", out->target, (long)getpid());
    FILE *to = fopen(out->temporary, "wx");
    return !to || fclose(to) || unlink(out->temporary);
}

/* The open one that a path names; -1: it names none. */
static int descriptor_of(const char *path)
{
    int descriptor, end = 0;
    if (strcmp(path, "/dev/stderr") == 0)
        return STDERR_FILENO;
    return sscanf(path, "/dev/fd/%d%n", &descriptor, &end) == 1 && !path[end] ? descriptor : -1;
}

int json_output_open(json_output *out, const char *path)
{
    struct stat found;
    *out = (json_output){.path = path};
    if (!path)
        return 0;
    if (json_output_is_stdout(out)) {
        out->to = stdout;
        return 0;
    }
    int exists = stat(path, &found) == 0, failed;
    const int descriptor = descriptor_of(path);
    if (descriptor >= 0) {
        out->to = fdopen(dup(descriptor), "w"); /* goes on where it is */
        failed = !out->to;
    } else if (exists && !S_ISREG(found.st_mode)) {
        out->to = fopen(path, "w"); /* a device, a pipe: nothing to be renamed over */
        failed = !out->to;
    } else if (!exists && lstat(path, &found) == 0) {
        failed = 1; /* a link to nothing, which would be replaced */
        errno = ENOENT;
    } else {
        failed = (exists && access(path, W_OK)) || try_temporary(out);
    }
    int why = errno;
    if (failed) {
        json_output_close(out);
        return fail(out, why);
    }
    return 0;
}

int json_output_is_stdout(const json_output *out)
{
    return out->path && (strcmp(out->path, "-") == 0 || strcmp(out->path, "/dev/stdout") == 0);
}

int json_output_write(json_output *out, json_t *report)
{
    if (!out->path) {
        json_decref(report);
        return 0;
    }
    json_t *value = json_pack("{s:s}", "version", sbn_version());
    const int incomplete = json_object_update(value, report);
    json_decref(report);
    errno = 0;
    FILE *to = out->to ? out->to : fopen(out->temporary, "wx");
    int failed = !to;
    struct stat replaced;
    if (to && !out->to && stat(out->target, &replaced) == 0)
        fchmod(fileno(to), replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
    if (to) {
        unfinished = out->to ? NULL : out->temporary;
        failed = incomplete || json_dumpf(value, to, JSON_INDENT(2) | JSON_ENSURE_ASCII) ||
                 fputc('\n', to) == EOF || fflush(to);
        unfinished = NULL;
    }
    if (to && !out->to) {
        failed |= fclose(to);
        failed = failed || rename(out->temporary, out->target);
        int why = errno;
        if (failed)
            unlink(out->temporary);
        errno = why;
    }
    json_decref(value);
    return failed ? fail(out, errno ? errno : EIO) : 0;
}

void json_output_close(json_output *out)
{
    if (out->to && out->to != stdout)
        fclose(out->to);
    free(out->target);
    free(out->temporary);
    *out = (json_output){.path = out->path};
}
