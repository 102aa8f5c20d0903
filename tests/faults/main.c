/*
 * faults [NAME]: all scenarios, or those whose names have NAME in them. FAULT_POINTS in the
 * environment: so many failures in each, at equal distances; 0: all; -1: all, but no two at a
 * time.
 */
#include <string.h>

#include "faults/driver.h"
#include "faults/stand.h"
#include "support/stalls.h"
#include "support/wraps.h"

/* All functions that are wrapped are called; else their failures are none. */
static void check_reached(void)
{
    for (int function = 0; function <= WRAP_REAL_PATH; ++function)
        tap_ok(wraps_calls(function) > 0, "%s has been called", wraps_names[function]);
}

static const char *wanted = "";

static void checks(void)
{
    const int points = fault_points();
    totals all = {0, 0, 0, 0};
    for (size_t f = 0; scenario_lists[f]; ++f) {
        for (const scenario *s = scenario_lists[f]; s->name; ++s) {
            sbn_group *keeper = NULL;
            sbn_batchnorm *layer = NULL;
            if (!strstr(s->name, wanted))
                continue;
            if (!s->alone) {
                must(stand_group(REPLICAS, NULL, &keeper), "sbn_group_create");
                must(s->keep ? s->keep(keeper, "keeper", 1, &layer)
                             : stand_layer_of(keeper, "keeper", 1, s->type, &layer),
                     "sbn_batchnorm_create");
            }
            const totals t = try_scenario(s, points);
            all.points += t.points;
            all.pairs += t.pairs;
            sbn_batchnorm_destroy(layer);
            sbn_group_destroy(keeper);
        }
    }
    if (scenarios_reach_all && !*wanted && points == 0)
        check_reached();
    tap_note("%d points, and %d of two failures", all.points, all.pairs);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        wanted = argv[1];
    if (stand_open())
        return fixture_missing();
    /* Ranks that wait for others do so for a second. */
    stalls_excuse(checks, 0.3);
    stand_close();
    return tap_done();
}
