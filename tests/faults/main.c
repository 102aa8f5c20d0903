/*
 * faults [NAME]: all scenarios, or those whose names have NAME in them, shared among processes if all
 * pairs of failures are tried: one for each processor, and what waits among more. Each opens OpenCL for
 * itself; what they find is in memory that all share.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults/driver.h"
#include "faults/stand.h"
#include "support/wraps.h"

enum { MOST_SCENARIOS = 32 };

typedef struct report {
    int is_missing; /* there is no device */
    totals of[MOST_SCENARIOS];
    long calls[WRAPS];
} report;

static const char *wanted = "";
static const scenario *scenarios[MOST_SCENARIOS];
static int scenario_count, pairs, waits;

static void choose_scenarios(void)
{
    for (size_t list = 0; scenario_lists[list]; ++list)
        for (const scenario *s = scenario_lists[list]; s->name; ++s)
            if (strstr(s->name, wanted)) {
                must(scenario_count < MOST_SCENARIOS ? CL_SUCCESS : SBN_OUT_OF_MEMORY, s->name);
                scenarios[scenario_count++] = s;
                waits |= s->waits;
            }
}

static void work(int part, int parts, report *to)
{
    to->is_missing = stand_open();
    if (to->is_missing)
        return;
    for (int i = 0; i < scenario_count; ++i)
        to->of[i] = try_scenario(scenarios[i], pairs, part, parts);
    for (int function = 0; function < WRAPS; ++function)
        to->calls[function] = wraps_calls[function];
    stand_close();
}

/* A process for each part, if there are several. */
static const report *work_in_parts(int parts)
{
    const size_t size = (size_t)parts * sizeof(report);
    report *all = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    must(all != MAP_FAILED ? CL_SUCCESS : SBN_OUT_OF_MEMORY, "memory for reports");
    if (parts == 1)
        work(0, 1, all);
    fflush(stdout);
    for (int part = 0; part < parts && parts > 1; ++part) {
        const pid_t process = fork();
        must(process >= 0 ? CL_SUCCESS : SBN_IO_ERROR, "fork");
        if (process == 0) {
            work(part, parts, &all[part]);
            exit(0);
        }
    }
    for (int status; parts > 1 && wait(&status) > 0;)
        if (status != 0)
            tap_ok(0, "a part: expected exit status 0, got %d, signal %d", WEXITSTATUS(status),
                   WTERMSIG(status));
    return all;
}

/* All functions that are wrapped are called; else their failures are none. */
static void check_reached(const report *reports, int parts)
{
    for (int function = 0; function <= WRAP_REAL_PATH; ++function) {
        long calls = 0;
        for (int part = 0; part < parts; ++part)
            calls += reports[part].calls[function];
        tap_ok(calls > 0, "%s has been called", wraps_names[function]);
    }
}

static void check_scenarios(const report *reports, int parts)
{
    totals all = {.points = 0};
    for (int i = 0; i < scenario_count; ++i) {
        totals t = {.points = 0};
        for (int part = 0; part < parts; ++part)
            add_totals(&t, &reports[part].of[i]);
        report_scenario(scenarios[i], &t);
        add_totals(&all, &t);
    }
    if (!waits && !*wanted)
        check_reached(reports, parts);
    tap_note("%d points, and %d of two failures", all.points, all.pairs);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wanted = argv[1];
    pairs = fault_points();
    choose_scenarios();
    /* What waits keeps no processor busy; a sample is too short for the cost of many processes. */
    const int most = waits ? 16 : (int)sysconf(_SC_NPROCESSORS_ONLN), few = waits ? 4 : 1;
    const int parts = pairs > 0 ? few : most;
    const report *reports = work_in_parts(parts);
    if (reports[0].is_missing)
        return fixture_missing();
    check_scenarios(reports, parts);
    return tap_done();
}
