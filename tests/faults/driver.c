#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "faults/driver.h"
#include "support/fixture.h"
#include "support/stalls.h"
#include "support/wraps.h"

enum { HOLDINGS = WRAPS_KINDS + 1, MOST_STEPS = 24 };

/* Distances from the first failure to a second one: most calls of a clean-up; or all calls fail. */
static const int seconds[] = {1, 2, 3, 5, 8, 13, WRAPS_ALL};

static const int survived_releases[] = {SURVIVED_RELEASES, -1};
const scenario *trying;
const int survived_waits[] = {WRAP_WAIT, WRAP_FINISH, SURVIVED_RELEASES, -1};

static void hold(long holdings[HOLDINGS])
{
    for (int kind = 0; kind < WRAPS_KINDS; ++kind)
        holdings[kind] = wraps_held[kind];
    holdings[WRAPS_KINDS] = sbn__handles_open();
}

int fault_points(void)
{
    enum { SAMPLE = 12 };
    const char *points = getenv("FAULT_POINTS");
    return points && *points ? atoi(points) : SAMPLE;
}

/* Digests of a run without failures, before and after each step. */
typedef struct record {
    uint64_t kept[MOST_STEPS], result[MOST_STEPS];
    long calls[MOST_STEPS]; /* of each step, and of the destruction */
} record;

/* Which calls fail, in each step from `from` on; the step behind the last one destroys everything. */
typedef struct plan {
    int n, second; /* as of wraps_fail and wraps_fail_again */
    int from;
} plan;

/* One run of a scenario. */
typedef struct run {
    const scenario *s;
    record *right;
    plan plan;
    int points, pairs;     /* failures */
    int survived;          /* of them: no error told it */
    int untold;            /* a failure that an error may still tell */
    int next;              /* from where on the next run's calls fail; 0: there is none */
    int first[MOST_STEPS]; /* which function failed in a step, or -1 */
    int twice;             /* two have, in this one */
    char wrong[768];       /* empty: nothing */
} run;

#define WRONG(r, ...) ((r)->wrong[0] ? 0 : snprintf((r)->wrong, sizeof(r)->wrong, __VA_ARGS__))

static uint64_t digest_by(uint64_t (*digest)(int), int step)
{
    wraps_pause();
    const uint64_t made = digest ? digest(step) : 0;
    wraps_resume();
    return made;
}

static int may_survive(const scenario *s, int function)
{
    const int *may = s->survived ? s->survived : survived_releases;
    while (*may >= 0 && *may != function)
        ++may;
    return *may >= 0;
}

static void begin_failing(run *r, int step)
{
    const int fails = step >= r->plan.from && !r->untold;
    r->twice = 0;
    wraps_fail(r->s->fails ? r->s->fails : WRAP_EVERY, fails ? r->plan.n : 0);
    wraps_fail_again = fails ? r->plan.second : 0;
}

/* Takes note of what has failed in the step so far: how much that is. */
static int note_failures(run *r, int step)
{
    if (wraps_failed >= 0)
        r->first[step] = wraps_failed;
    r->twice |= wraps_failed_again >= 0;
    return (wraps_failed >= 0) + (wraps_failed_again >= 0);
}

/* Nothing is promised of bits once what an error may change has changed: then the run ends. */
static int judge_error(run *r, int step, int status, const char *sentence, uint64_t before)
{
    const uint64_t after = digest_by(r->s->kept, step);
    if (!*sentence || strstr(sentence, "(null)"))
        WRONG(r, "step %d: %s with a sentence \"%s\"", step, sbn_strerror(status), sentence);
    if (r->first[step] == WRAP_ALLOCATE && r->plan.second == 0 && status != SBN_OUT_OF_MEMORY)
        WRONG(r, "step %d: no memory, but %s: %s", step, sbn_strerror(status), sentence);
    /* No function fails so: this one was given what a failed one did not make. */
    if (strstr(sentence, "(CL_INVALID_"))
        WRONG(r, "step %d: %s", step, sentence);
    if (!before || !after || after == before)
        return 1;
    if (!r->s->may_track || (r->s->may_track == 1 && r->first[step] == WRAP_ALLOCATE))
        WRONG(r, "step %d: something has changed after %s: %s", step, sbn_strerror(status),
              sentence);
    return 0;
}

/* A step that has failed is repeated until it succeeds; 0: the run ends. */
static int succeed(run *r, int step, int *told)
{
    uint64_t before = r->right->kept[step];
    for (int seen = 0, again = 0;; again = 1) {
        const int status = r->s->step(step);
        char sentence[512];
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
        const int now = note_failures(r, step);
        if (!status)
            return 1;
        if (now == seen && again && status == SBN_GROUP_FAILED)
            return 0;
        if (now == seen && !r->untold) {
            WRONG(r, "step %d%s: %s: %s", step, again ? ", once more" : " without a failure",
                  sbn_strerror(status), sentence);
            return 0;
        }
        *told = 1;
        r->untold = 0;
        if (!judge_error(r, step, status, sentence, before))
            return 0;
        before = digest_by(r->s->kept, step);
        seen = now;
        if (r->plan.second == WRAPS_ALL)
            wraps_fail(WRAP_EVERY, seen = 0);
    }
}

/* Counts what has failed in a step; a failure must be told, if it is not one that may be survived. */
static void count(run *r, int step, int told)
{
    if (r->plan.n == 0)
        r->right->calls[step] = wraps_own_calls;
    if (r->first[step] < 0)
        return;
    ++r->points;
    r->pairs += r->twice;
    r->survived += !told;
    r->untold = !told && r->plan.second == 0 && step < r->s->steps &&
                !may_survive(r->s, r->first[step]);
}

/* One more step follows the last one that makes so many calls. */
static int last_step(const run *r)
{
    int step = r->s->steps;
    while (r->plan.n > 0 && step > r->plan.from && r->right->calls[step] < r->plan.n)
        --step;
    return step + 1 < r->s->steps ? step + 1 : r->s->steps - 1;
}

/* Bits are compared after a failure, where a run goes on, and at the end; 0: the run ends. */
static int judge_success(run *r, int step)
{
    const int failed = r->first[step], is_right = r->plan.n == 0;
    if (!is_right && failed < 0 && step + 1 != r->plan.from && step < last_step(r))
        return 1;
    wraps_pause();
    const uint64_t made = r->s->result();
    wraps_resume();
    if (is_right)
        r->right->result[step] = made;
    if (made == r->right->result[step])
        return 1;
    /* What comes after a pass's last command. */
    const int is_last_word = failed == WRAP_RETAIN_EVENT || failed == WRAP_FLUSH;
    if (r->s->may_track < 2 && (!r->s->may_track || !is_last_word))
        WRONG(r, "step %d: other results than without a failure", step);
    return 0;
}

static void take_steps(run *r)
{
    for (int step = 0; step <= last_step(r); ++step) {
        int told = 0;
        if (r->plan.n == 0)
            r->right->kept[step] = digest_by(r->s->kept, step);
        begin_failing(r, step);
        const int goes_on = succeed(r, step, &told);
        count(r, step, told);
        const int right = goes_on && judge_success(r, step);
        if ((!right || r->untold) && !r->next && step >= r->plan.from)
            r->next = step + 1;
        if (!right)
            return;
    }
}

static void judge_holdings(run *r, const long before[HOLDINGS])
{
    long after[HOLDINGS];
    hold(after);
    const int leaks = r->s->may_leak && r->s->may_leak();
    if (!leaks && memcmp(after, before, sizeof after) != 0)
        WRONG(r, "left open: %ld references, %ld blocks, %ld descriptors (%ld handles)",
              after[0] - before[0], after[1] - before[1], after[2] - before[2],
              after[3] - before[3]);
}

static run make_run(const scenario *s, record *right, const plan *p)
{
    run r = {.s = s, .right = right, .plan = *p};
    long before[HOLDINGS];
    hold(before);
    trying = s;
    memset(r.first, -1, sizeof r.first);
    wraps_pause();
    if (s->begin)
        s->begin();
    wraps_resume();
    take_steps(&r);
    if (r.untold)
        WRONG(&r, "the failure was not noticed");
    r.untold = 0;
    begin_failing(&r, s->steps);
    s->end();
    note_failures(&r, s->steps);
    count(&r, s->steps, 0);
    wraps_fail(WRAP_EVERY, 0);
    judge_holdings(&r, before);
    return r;
}

/* A deadline may pass where the machine stops this process: it is tried again. Ranks of a job make the same runs. */
static run try_run(const scenario *s, record *right, const plan *p)
{
    const double limit = 0.3;
    for (int again = s->fails == WRAP_SYMMETRIC ? 0 : 4;; --again) {
        stalls_forget();
        const run r = make_run(s, right, p);
        if (!*r.wrong || again == 0 || stalls_longest() < limit)
            return r;
        tap_note("%s: call %d: the machine has stopped this process: once more (%s)", s->name, p->n,
                 r.wrong);
    }
}

static void complain(const run *r)
{
    char failed[512] = "";
    for (int step = 0; step <= r->s->steps; ++step)
        if (r->first[step] >= 0)
            snprintf(failed + strlen(failed), sizeof failed - strlen(failed), ", %d %s", step,
                     wraps_names[r->first[step]]);
    tap_note("%s: call %d (%d) of each step%s: %s", r->s->name, r->plan.n, r->plan.second, failed,
             r->wrong);
}

/* The n-th call of each step fails: a run that ends early is followed by one of the other steps. */
static int try_steps(totals *t, const scenario *s, record *right, int n, int second)
{
    plan p = {.n = n, .second = second};
    int points = 0;
    do {
        const run r = try_run(s, right, &p);
        points += r.points;
        t->points += second == 0 ? r.points : 0;
        t->pairs += r.pairs;
        t->survived += r.survived;
        t->wrong += *r.wrong != '\0';
        if (*r.wrong && t->wrong <= 20)
            complain(&r);
        p.from = r.next;
    } while (p.from > 0);
    return points;
}

totals try_scenario(const scenario *s, int pairs, int part, int parts)
{
    totals t = {.points = 0};
    record right;
    stalls_begin();
    const run whole = try_run(s, &right, &(plan){.n = 0});
    snprintf(t.why, sizeof t.why, "%.250s", whole.wrong);
    for (int step = 0; step <= s->steps; ++step)
        t.calls = right.calls[step] > t.calls ? (int)right.calls[step] : t.calls;
    const int stride = pairs > 0 && t.calls > pairs ? t.calls / pairs : 1;
    for (int n = 1 + part; !*t.why && try_steps(&t, s, &right, n, 0) > 0; n += parts)
        for (size_t i = 0; i < sizeof seconds / sizeof *seconds && (n - 1) % stride == 0; ++i)
            if (pairs == 0 || seconds[i] == 1 || seconds[i] == WRAPS_ALL)
                try_steps(&t, s, &right, n, seconds[i]);
    stalls_end();
    return t;
}

void add_totals(totals *to, const totals *more)
{
    to->points += more->points;
    to->pairs += more->pairs;
    to->survived += more->survived;
    to->wrong += more->wrong;
    to->calls = more->calls;
    if (*more->why)
        memcpy(to->why, more->why, sizeof to->why);
}

void report_scenario(const scenario *s, const totals *t)
{
    tap_ok(t->points > 0 && t->wrong == 0 && !*t->why,
           "%s: %d points, %d of two failures; %d survived, %d wrong %s", s->name, t->points,
           t->pairs, t->survived, t->wrong, t->why);
}
