/*
 * The goals' verdicts. A goal is judged by the worst of all problems
 * and passes that it is about: by medians, never by a lucky round.
 */
#include "bench/report/goals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/report/goals_list.h"
#include "bench/report/results.h"

/* The worst value so far, and how many met the goal. */
typedef struct tally {
    size_t values, met;
    double worst;
    const char *problem, *pass;
} tally;

static int meets(const goal *g, double value)
{
    return g->at_least ? value >= g->limit : value <= g->limit;
}

static void count(const goal *g, const json_t *problem, const char *pass, tally *t)
{
    double value = g->value(problem, pass);
    if (isnan(value))
        return;
    if (!t->values || (g->at_least ? value < t->worst : value > t->worst)) {
        t->worst = value;
        t->problem = results_line(problem);
        t->pass = pass;
    }
    ++t->values;
    t->met += meets(g, value) != 0;
}

static tally judge(const goal *g, const json_t *report)
{
    static const char *const passes[] = {"forward", "backward"};
    tally t = {0, 0, NAN, "", ""};
    const json_t *problems = results_problems(report);
    for (size_t index = 0; index < json_array_size(problems); ++index) {
        const json_t *problem = json_array_get(problems, index);
        for (size_t i = 0; i < 2 && goal_is_about(g, problem); ++i)
            if (!g->pass || strcmp(g->pass, passes[i]) == 0)
                count(g, problem, passes[i], &t);
    }
    return t;
}

static void print(const goal *g, const tally *t)
{
    if (!t->values) {
        printf("%-66s  not measured\n", g->what);
        return;
    }
    printf("%-66s %8.2f%-3s  goal %s %g%-3s  %s", g->what, t->worst, g->unit,
           g->at_least ? ">=" : "<=", g->limit, g->unit,
           t->met >= (g->half ? (t->values + 1) / 2 : t->values) ? "met   " : "missed");
    printf("  %zu of %zu; worst: %s %s\n", t->met, t->values, t->pass, t->problem);
}

void goals_print(const json_t *report)
{
    for (size_t i = 0; i < goal_count; ++i) {
        if (!goal_is_for(&goals[i], report))
            continue;
        tally t = judge(&goals[i], report);
        print(&goals[i], &t);
    }
}
