/*
 * The same batch gives the same bits of mean, variance, y, dx, weight_grad, bias_grad and running
 * statistics in every configuration of bits_list.c: numbers of replicas, shards, orders of
 * samples, layouts, kernel forms, compilers and devices. Digests are of buffers read back.
 *
 * Each machine's configurations run in a process of their own, this program with the machine's
 * name as its argument. A configuration that did not run is a failure.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pass/bits.h"
#include "check/outputs.h"
#include "support/fixture.h"
#include "support/tap.h"

typedef struct outcome {
    int ran, wide;
    char digest[OUTPUTS][17];
    char *failed; /* a sentence */
} outcome;

static outcome *outcomes; /* of configuration c and subject s: [c * subject_count + s] */

static outcome *at(size_t c, size_t s)
{
    return &outcomes[c * subject_count + s];
}

/* Runs in the child: this program again, on the machine's devices. */
static void become(const machine *m, const char *self)
{
    setenv("POCL_DEVICES", m->pocl_devices, 1);
    fixture_one_thread();
    setenv("RUSTICL_ENABLE", "llvmpipe", 1);
    if (m->under_oclgrind)
        /* Where `restrict` is, clang leaves an intrinsic that Oclgrind 21.10 does not know. */
        execlp("oclgrind", "oclgrind", "--build-options", "-D restrict=", self, m->name,
               (char *)NULL);
    else
        execl(self, self, m->name, (char *)NULL);
    printf("missing %s: %s\n", m->under_oclgrind ? "oclgrind" : self, strerror(errno));
    fflush(stdout);
    _exit(0);
}

static FILE *start(const machine *m, const char *self, pid_t *child)
{
    int ends[2];
    fflush(stdout);
    if (pipe(ends))
        return NULL;
    *child = fork();
    if (*child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        become(m, self);
    }
    close(ends[1]);
    return *child > 0 ? fdopen(ends[0], "r") : NULL;
}

static void read_line(const char *line, char *missing, size_t size)
{
    size_t c, s;
    int from = 0;
    if (sscanf(line, "missing %n", &from) == 0 && from) {
        snprintf(missing, size, "%s", line + from);
    } else if (sscanf(line, "failed %zu %zu %n", &c, &s, &from) == 2 && from) {
        at(c, s)->failed = strdup(line + from);
    } else if (sscanf(line, "digest %zu %zu %n", &c, &s, &from) == 2 && from) {
        outcome *o = at(c, s);
        char *end;
        o->wide = (int)strtol(line + from, &end, 10);
        for (int id = 0; id < OUTPUTS; ++id)
            snprintf(o->digest[id], sizeof *o->digest, "%llx", strtoull(end, &end, 16));
        o->ran = 1;
    } else {
        tap_note("%s", line);
    }
}

/* Runs a machine's configurations. Returns 0 where the machine is missing, with the reason. */
static int run_machine(const machine *m, const char *self, char *missing, size_t size)
{
    char line[2048];
    pid_t child = -1;
    int status = 0;
    FILE *from = start(m, self, &child);
    *missing = 0;
    if (!from) {
        tap_ok(0, "%s: a process: %s", m->name, strerror(errno));
        return 1;
    }
    while (fgets(line, sizeof line, from)) {
        line[strcspn(line, "\n")] = 0;
        read_line(line, missing, size);
    }
    fclose(from);
    waitpid(child, &status, 0);
    if (!*missing)
        tap_ok(status == 0, "%s: the process ends well: status %d", m->name, status);
    return !*missing;
}

/* The first configuration that ran this subject. */
static const outcome *reference(size_t s)
{
    size_t c = 0;
    while (c + 1 < configuration_count && !at(c, s)->ran)
        ++c;
    return at(c, s);
}

/* 1 if the outcome is as it must be; else prints why. */
static int agrees(const outcome *o, size_t c, size_t s)
{
    const outcome *expected = reference(s);
    const char *line = subjects[s].line, *settings = configurations[c].settings;
    int same = o->ran;
    if (!o->ran)
        tap_note("%s,%s: %s", line, settings, o->failed ? o->failed : "did not run");
    if (o->ran && o->wide >= 0 && o->wide != subjects[s].wide) {
        tap_note("%s,%s: wide format %d, expected %d", line, settings, o->wide, subjects[s].wide);
        same = 0;
    }
    for (int id = 0; id < OUTPUTS && o->ran; ++id)
        if (strcmp(o->digest[id], expected->digest[id])) {
            tap_note("%s,%s: %s %s, expected %s", line, settings, output_names[id], o->digest[id],
                     expected->digest[id]);
            same = 0;
        }
    return same;
}

/* Returns how many of the machine's configurations did what they must. */
static size_t judge(const machine *m)
{
    size_t ran = 0;
    for (size_t c = 0; c < configuration_count; ++c) {
        size_t wanted = 0, same = 0;
        if (strcmp(configurations[c].machine, m->name))
            continue;
        for (size_t s = 0; s < subject_count; ++s)
            if (bits_runs(m, c, s)) {
                ++wanted;
                same += (size_t)agrees(at(c, s), c, s);
            }
        tap_ok(wanted && same == wanted, "%s, %s: the bits of %zu of %zu problems", m->name,
               configurations[c].settings, same, wanted);
        ran += wanted && same == wanted;
    }
    return ran;
}

/* Subjects must differ from each other, or equal digests would mean nothing. */
static void judge_subjects(void)
{
    size_t same = 0;
    for (size_t s = 0; s < subject_count; ++s)
        for (size_t other = 0; other < s; ++other)
            same += !memcmp(reference(s)->digest, reference(other)->digest,
                            sizeof reference(s)->digest);
    tap_ok(!same, "no two of %zu problems have the same digests", subject_count);
}

int main(int argc, char **argv)
{
    size_t ran = 0, absent = 0;
    if (argc > 1)
        return bits_worker(argv[1]);
    outcomes = calloc(configuration_count * subject_count, sizeof *outcomes);
    if (!outcomes)
        return 1;
    for (size_t m = 0; m < machine_count; ++m) {
        char missing[1024];
        if (run_machine(&machines[m], argv[0], missing, sizeof missing)) {
            ran += judge(&machines[m]);
            continue;
        }
        tap_missing("%s: %s", machines[m].name, missing);
        for (size_t c = 0; c < configuration_count; ++c)
            absent += !strcmp(configurations[c].machine, machines[m].name);
    }
    judge_subjects();
    tap_ok(ran > 1 && ran + absent == configuration_count,
           "%zu configurations named, %zu ran and agreed, %zu on machines missing here",
           configuration_count, ran, absent);
    for (size_t i = 0; i < configuration_count * subject_count; ++i)
        free(outcomes[i].failed);
    free(outcomes);
    return tap_done();
}
