/*
 * Each allocation of `syncbn inspect --json` fails once, the JSON library's and the command's own:
 * the report is whole, or the command says that there is no memory, ends with a failure, and
 * leaves the former report and no file besides.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/tap.h"
#include "support/vectors.h"
#include "support/wraps.h"
#include "syncbn/options.h"

enum { NOT_REACHED = 100, ROOM = 1 << 14 };

static char folder[64], report[80], errors[80];

/* In a process of its own, for it may end: the status, or NOT_REACHED where nothing failed. */
static int inspect_with_failure(int n)
{
    static char file[1024];
    char *files[] = {file, NULL};
    const command_options options = {.json = report, .operands = files};
    json_output json;
    snprintf(file, sizeof file, "%s", data_path("troubled.safetensors"));
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout) || !freopen(errors, "w", stderr))
            _exit(99);
        json_memory_or_exit();
        wraps_fail(WRAP_EVERY, n);
        int status = json_output_open(&json, options.json);
        if (!status) {
            status = inspect_command.run(NULL, &options, &json);
            json_output_close(&json);
        }
        exit(wraps_failed() < 0 ? NOT_REACHED : status);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static size_t read_file(const char *path, char text[ROOM])
{
    FILE *file = fopen(path, "rb");
    const size_t size = file ? fread(text, 1, ROOM - 1, file) : 0;
    text[size] = '\0';
    if (file)
        fclose(file);
    return size;
}

/* Are there other files than the report and what was said? */
static int others_left(void)
{
    int left = -2;
    DIR *directory = opendir(folder);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        left += entry->d_name[0] != '.';
    if (directory)
        closedir(directory);
    return left;
}

static void put_former(void)
{
    FILE *file = fopen(report, "w");
    must(file && fputs("former", file) >= 0 ? CL_SUCCESS : SBN_IO_ERROR, report);
    fclose(file);
}

/* Some layers look wrong: a whole report ends with EXIT_FAILED, too. */
static const char *judge(int status, const char *right)
{
    char text[ROOM], said[ROOM];
    read_file(report, text);
    read_file(errors, said);
    if (others_left() != 0)
        return "a file is left";
    if (status != EXIT_FAILED)
        return "another status";
    if (strcmp(text, right) == 0)
        return *said ? "a whole report, and a sentence" : NULL;
    if (strcmp(text, "former") != 0)
        return "the former report has changed";
    return strstr(said, "memory") ? NULL : "another sentence";
}

int main(void)
{
    static char right[ROOM];
    const char *temporary = getenv("TMPDIR"), *wrong = NULL;
    int n = 1;
    snprintf(folder, sizeof folder, "%.40s/syncbn-XXXXXX", temporary ? temporary : "/tmp");
    if (!mkdtemp(folder)) {
        printf("Bail out! %s cannot be made\n", folder);
        return 99;
    }
    snprintf(report, sizeof report, "%s/report", folder);
    snprintf(errors, sizeof errors, "%s/errors", folder);
    const int whole = inspect_with_failure(0);
    tap_ok(whole == NOT_REACHED && read_file(report, right) > 100, "a whole report: status %d",
           whole);
    for (;; ++n) {
        put_former();
        const int status = inspect_with_failure(n);
        if (status == NOT_REACHED)
            break;
        const char *this = judge(status, right);
        wrong = wrong ? wrong : this;
        if (this)
            tap_note("allocation %d: status %d: %s", n, status, this);
        if (this && others_left() > 0)
            break;
    }
    tap_ok(!wrong && n > 20, "%d allocations failed, one in each run: %s", n - 1,
           wrong ? wrong : "no half report");
    unlink(report);
    unlink(errors);
    tap_ok(rmdir(folder) == 0, "no file is left");
    return tap_done();
}
