/*
 * faults [NAME]: all scenarios, or those whose names have NAME in them, shared among processes if all
 * pairs of failures are tried: one for each processor, and what waits among more.
 */
#include <string.h>
#include <unistd.h>

#include "faults/driver.h"
#include "faults/stand.h"
#include "faults/workers.h"
#include "support/wraps.h"

static const char *wanted = "";
static const scenario *scenarios[MOST_SCENARIOS];
static int scenario_count, pairs;

static void choose_scenarios(void)
{
    for (size_t list = 0; scenario_lists[list]; ++list)
        for (const scenario *s = scenario_lists[list]; s->name; ++s)
            if (strstr(s->name, wanted)) {
                must(scenario_count < MOST_SCENARIOS ? CL_SUCCESS : SBN_OUT_OF_MEMORY, s->name);
                scenarios[scenario_count++] = s;
            }
}

static void work(int part, int parts, worker_report *report)
{
    report->is_missing = stand_open();
    if (report->is_missing)
        return;
    for (int i = 0; i < scenario_count; ++i)
        report->of[i] = try_scenario(scenarios[i], pairs, part, parts);
    for (int function = 0; function < WRAPS; ++function)
        report->calls[function] = wraps_calls(function);
    stand_close();
}

/* All functions that are wrapped are called; else their failures are none. */
static void check_reached(const worker_report *reports, int parts)
{
    for (int function = 0; function <= WRAP_REAL_PATH; ++function) {
        long calls = 0;
        for (int part = 0; part < parts; ++part)
            calls += reports[part].calls[function];
        tap_ok(calls > 0, "%s has been called", wraps_names[function]);
    }
}

static void check_scenarios(const worker_report *reports, int parts)
{
    totals all = {.points = 0};
    for (int i = 0; i < scenario_count; ++i) {
        totals t = {.points = 0};
        for (int part = 0; part < parts; ++part)
            add_totals(&t, &reports[part].of[i]);
        report_scenario(scenarios[i], &t);
        add_totals(&all, &t);
    }
    if (scenarios_reach_all && !*wanted)
        check_reached(reports, parts);
    tap_note("%d points, and %d of two failures", all.points, all.pairs);
}

/* What waits keeps no processor busy; a sample is too short for the cost of many processes. */
static int parts_of_work(void)
{
    int waits = 0;
    for (int i = 0; i < scenario_count; ++i)
        waits |= scenarios[i]->waits;
    if (pairs > 0)
        return waits ? 4 : 1;
    return waits ? 16 : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wanted = argv[1];
    pairs = fault_points();
    choose_scenarios();
    const int parts = parts_of_work();
    const worker_report *reports = workers_run(parts, work);
    if (reports[0].is_missing)
        return fixture_missing();
    check_scenarios(reports, parts);
    return tap_done();
}
