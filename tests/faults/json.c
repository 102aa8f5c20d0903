/*
 * Each allocation of `syncbn inspect --json` fails once, the JSON library's and the command's own: the report is whole,
 * or the command says that there is no memory, ends with a failure, and leaves the former report and no file besides.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"
#include "support/folder.h"
#include "support/wraps.h"
#include "syncbn/options.h"

enum { NOT_REACHED = 100, ROOM = 1 << 14 };

static const char *report, *errors;

/* The report and what was said. */
enum { FILES = 2 };

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
        exit(wraps_failed < 0 ? NOT_REACHED : status);
    }
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

static void read_file(const char *path, char text[ROOM])
{
    text[folder_read(path, text, ROOM - 1)] = '\0';
}

/* Some layers look wrong: a whole report ends with EXIT_FAILED, too. */
static const char *judge(int status, const char *right)
{
    char text[ROOM], said[ROOM];
    read_file(report, text);
    read_file(errors, said);
    if (folder_names(folder_root, NULL) != FILES)
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
    const char *wrong = NULL;
    int n = 1;
    folder_begin();
    report = folder_path("report");
    errors = folder_path("errors");
    const int whole = inspect_with_failure(0);
    read_file(report, right);
    tap_ok(whole == NOT_REACHED && strlen(right) > 100, "a whole report: status %d", whole);
    for (;; ++n) {
        folder_write(report, "former", strlen("former"));
        const int status = inspect_with_failure(n);
        if (status == NOT_REACHED)
            break;
        const char *this = judge(status, right);
        wrong = wrong ? wrong : this;
        if (this)
            tap_note("allocation %d: status %d: %s", n, status, this);
        if (folder_names(folder_root, NULL) > FILES)
            break;
    }
    tap_ok(!wrong && n > 20, "%d allocations failed, one in each run: %s", n - 1,
           wrong ? wrong : "no half report");
    folder_end();
    return tap_done();
}
