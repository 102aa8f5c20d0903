/* The goals of a report. */
#ifndef TOOLS_BENCH_REPORT_GOALS_LIST_H
#define TOOLS_BENCH_REPORT_GOALS_LIST_H

#include <stddef.h>

#include <jansson.h>

typedef enum devices { ON_CPU = 1, ON_GPU = 2, ON_ANY = 3 } devices;
typedef enum layouts { FIRST = 1, LAST = 2, BOTH = 3 } layouts;

typedef struct goal {
    devices devices;
    const char *what;
    const char *unit;
    double limit;
    int at_least; /* the value is to be `limit` or more; else or less */
    double (*value)(const json_t *problem, const char *pass); /* NaN: not measured */
    int (*about)(const json_t *problem);
    layouts layouts;
    const char *pass; /* NULL: both */
    int half;         /* enough if half of the values meet it */
    /* Which problems it is about; NULL: batch norms of f32 alone. */
    int (*kind)(const json_t *problem);
} goal;

extern const goal goals[];
extern const size_t goal_count;

/* Whether it is a goal on devices of the kind of the report's first one. */
int goal_is_for(const goal *g, const json_t *report);

int goal_is_about(const goal *g, const json_t *problem);

#endif
