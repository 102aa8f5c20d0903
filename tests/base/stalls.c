/*
 * tests/support/stalls.h: a check that fails counts at once, unless the process was stopped
 * meanwhile; then it is made again, and counts in the last attempt. Children stop themselves.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/stalls.h"
#include "support/tap.h"

static int rounds;

static void fail_always(void)
{
    tap_ok(0, "round %d", ++rounds);
}

static void fail_after_stop(void)
{
    if (++rounds == 1)
        raise(SIGSTOP);
    tap_ok(rounds > 1, "round %d", rounds);
}

static void stop_and_fail_always(void)
{
    raise(SIGSTOP);
    tap_ok(0, "round %d", ++rounds);
}

typedef struct outcome {
    int status;
    char lines[4096];
} outcome;

/* A stop lasts twice as long as what excuses a failure. */
static outcome outcome_of(void (*checks)(void))
{
    const struct timespec stop = {0, 400000000};
    outcome o = {-1, ""};
    int ends[2], status = 0;
    if (pipe(ends))
        return o;
    const pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        stalls_excuse(checks, 0.2);
        exit(tap_done());
    }
    close(ends[1]);
    while (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status)) {
        nanosleep(&stop, NULL);
        kill(child, SIGCONT);
    }
    if (read(ends[0], o.lines, sizeof o.lines - 1) < 0)
        perror("read");
    close(ends[0]);
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return o;
}

static int occurrences(const char *text, const char *word)
{
    int count = 0;
    for (; (text = strstr(text, word)) != NULL; text += strlen(word))
        ++count;
    return count;
}

/* `excused` failures; -1: any number, for the machine may stop a child, too. */
static void expect(const outcome *o, int status, int excused, const char *line, const char *what)
{
    const int got = occurrences(o->lines, "# excused: ");
    tap_ok(o->status == status && (excused < 0 || got == excused) && strstr(o->lines, line),
           "%s: expected status %d and \"%s\", got status %d; %d were excused", what, status, line,
           o->status, got);
    if (o->status != status)
        tap_note("%s", o->lines);
}

int main(void)
{
    /* Before this program's own checks, which children would count. */
    const outcome failed = outcome_of(fail_always), again = outcome_of(fail_after_stop),
                  hopeless = outcome_of(stop_and_fail_always);
    expect(&failed, 1, -1, "not ok 1 - round ", "a failure without a stop");
    expect(&again, 0, 1, "ok 1 - round 2", "a failure after a stop");
    expect(&hopeless, 1, 4, "not ok 1 - round 5", "failures after stops, each time");
    return tap_done();
}
