#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "faults/driver.h"
#include "support/fixture.h"
#include "support/stalls.h"
#include "support/wraps.h"

enum { HOLDINGS = WRAPS_KINDS + 1 };

/* Distances from the first failure to a second one: most calls of a clean-up; or all calls fail. */
static const int seconds[] = {1, 2, 3, 5, 8, 13, WRAPS_ALL};

const int survived_releases[] = {SURVIVED_RELEASES, -1};
const int survived_waits[] = {WRAP_WAIT, WRAP_FINISH, SURVIVED_RELEASES, -1};

typedef struct holdings {
    long of[HOLDINGS];
} holdings;

static holdings holds(void)
{
    holdings h;
    for (int kind = 0; kind < WRAPS_KINDS; ++kind)
        h.of[kind] = wraps_held(kind);
    h.of[WRAPS_KINDS] = sbn__handles_open();
    return h;
}

enum { MOST_STEPS = 16 };

int fault_points(void)
{
    enum { SAMPLE = 12 };
    const char *points = getenv("FAULT_POINTS");
    return points && *points ? atoi(points) : SAMPLE;
}

/* Digests of a run without failures, before and after each step. */
typedef struct record {
    uint64_t kept[MOST_STEPS], result[MOST_STEPS];
} record;

/* One run of a scenario. */
typedef struct run {
    const scenario *s;
    record *right;
    int recording;     /* this is the run without failures */
    int first, second; /* which functions failed; -1: none */
    int reported;      /* steps that returned an error */
    int tracked;       /* scenario.may_track: it may have come so */
    int refused;
    char wrong[768]; /* empty: nothing */
} run;

#define WRONG(r, ...) ((r)->wrong[0] ? 0 : snprintf((r)->wrong, sizeof(r)->wrong, __VA_ARGS__))

static int failures(void)
{
    return (wraps_failed() >= 0) + (wraps_failed_again() >= 0);
}

static uint64_t kept(const scenario *s, int step)
{
    wraps_pause();
    const uint64_t digest = s->kept ? s->kept(step) : 0;
    wraps_resume();
    return digest;
}

static uint64_t result(const scenario *s)
{
    wraps_pause();
    const uint64_t digest = s->result();
    wraps_resume();
    return digest;
}

/* Until something fails all is as it was without failures. */
static uint64_t kept_before(const run *r, int step, int after_failure)
{
    if (r->recording)
        r->right->kept[step] = kept(r->s, step);
    return after_failure ? kept(r->s, step) : r->right->kept[step];
}

static void judge_success(run *r, int step, int after_failure)
{
    if (r->recording)
        r->right->result[step] = result(r->s);
    else if (after_failure && !r->tracked && result(r->s) != r->right->result[step])
        WRONG(r, "step %d: other results than without a failure", step);
}

static int failed_was(int function)
{
    return wraps_failed() == function || wraps_failed_again() == function;
}

static void judge_error(run *r, int step, int status, const char *sentence, uint64_t before)
{
    if (!*sentence)
        WRONG(r, "step %d: %s without a sentence", step, sbn_strerror(status));
    const uint64_t after = kept(r->s, step);
    r->tracked |= r->s->may_track == 2 ||
                  (r->s->may_track && (failed_was(WRAP_RETAIN_EVENT) || failed_was(WRAP_FLUSH)));
    if (!r->tracked && before && after && after != before)
        WRONG(r, "step %d: something has changed after %s: %s", step, sbn_strerror(status),
              sentence);
}

/* A step that has failed is repeated; after_failure: something has failed already. */
static void take_steps(run *r, int all, int after_failure)
{
    int seen = 0, again = 0;
    for (int step = 0; step < r->s->steps;) {
        const uint64_t before = kept_before(r, step, after_failure);
        const int status = r->s->step(step);
        char sentence[512];
        snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
        const int now = failures();
        after_failure = after_failure || now > 0;
        if (!status) {
            judge_success(r, step++, after_failure);
            continue;
        }
        ++r->reported;
        judge_error(r, step, status, sentence, before);
        r->refused = again && now == seen && status == SBN_GROUP_FAILED;
        if (r->refused)
            return;
        if (now == seen) {
            WRONG(r, "step %d%s: %s: %s", step, again ? ", once more" : " without a failure",
                  sbn_strerror(status), sentence);
            return;
        }
        seen = now;
        again = 1;
        r->first = wraps_failed();
        r->second = wraps_failed_again();
        if (all)
            wraps_fail(WRAP_EVERY, seen = 0);
    }
}

static int may_survive(const scenario *s, int function)
{
    const int *may = s->survived;
    while (*may >= 0 && *may != function)
        ++may;
    return *may >= 0;
}

/* The n-th call fails, and another after it (wraps_fail_again). */
static run make_run(const scenario *s, record *right, int n, int second, int after_failure)
{
    run r = {.s = s,
             .right = right,
             .recording = n == 0 && !after_failure,
             .first = -1,
             .second = -1};
    const holdings before = holds();
    wraps_pause();
    if (s->begin)
        s->begin();
    wraps_resume();
    wraps_fail(s->symmetric ? WRAP_SYMMETRIC : WRAP_EVERY, n);
    wraps_fail_again(second);
    take_steps(&r, second == WRAPS_ALL, after_failure);
    const int in_steps = failures();
    s->end();
    if (r.first < 0) {
        r.first = wraps_failed();
        r.second = wraps_failed_again();
    }
    wraps_fail(WRAP_EVERY, 0);
    const holdings after = holds();
    const int leaks = s->may_leak && s->may_leak();
    for (int kind = 0; kind < HOLDINGS && !leaks; ++kind)
        if (after.of[kind] != before.of[kind])
            WRONG(&r, "left open: %ld references, %ld blocks, %ld descriptors (%ld handles)",
                  after.of[0] - before.of[0], after.of[1] - before.of[1],
                  after.of[2] - before.of[2], after.of[3] - before.of[3]);
    if (in_steps && !r.reported && second == 0 && !may_survive(s, r.first))
        WRONG(&r, "the failure was not noticed");
    return r;
}

/* A call that has been refused for good is followed by a run of its own, without failures. */
static run run_and_after(const scenario *s, record *right, int n, int second)
{
    run r = make_run(s, right, n, second, 0);
    if (*r.wrong || !r.refused)
        return r;
    const run fresh = make_run(s, right, 0, 0, 1);
    if (*fresh.wrong)
        snprintf(r.wrong, sizeof r.wrong, "afterwards: %.700s", fresh.wrong);
    return r;
}

/*
 * A deadline may pass on a machine that has stopped this process: what is wrong then is tried again.
 * Ranks of a job all make the same runs.
 */
static run try_run(const scenario *s, record *right, int n, int second)
{
    const double limit = 0.3;
    for (int again = s->symmetric ? 0 : 4;; --again) {
        stalls_forget();
        const run r = run_and_after(s, right, n, second);
        if (!*r.wrong || again == 0 || stalls_longest() < limit)
            return r;
        tap_note("%s: call %d: the machine has stopped this process: once more (%s)", s->name, n,
                 r.wrong);
    }
}

static void judge(totals *t, const run *r, int n, int second)
{
    t->survived += !r->reported;
    if (!*r->wrong)
        return;
    ++t->wrong;
    if (t->wrong <= 20)
        tap_note("%s: call %d, %s%s%s (%d): %s", r->s->name, n, wraps_names[r->first],
                 r->second < 0 ? "" : ", then ", r->second < 0 ? "" : wraps_names[r->second],
                 second, r->wrong);
}

static void try_pairs(totals *t, const scenario *s, record *right, int n, int whole)
{
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; ++i) {
        if ((!whole || s->slow) && seconds[i] != 1 && seconds[i] != WRAPS_ALL)
            continue;
        const run r = try_run(s, right, n, seconds[i]);
        t->pairs += r.second >= 0;
        if (r.second >= 0)
            judge(t, &r, n, seconds[i]);
    }
}

static void tell(const scenario *s, const share *own, int about, double begun)
{
    const int tried = 1 + atomic_fetch_add(own->tried, 1);
    if (tried % 100 == 0)
        tap_note("%s: %d of about %d points after %.0f s", s->name, tried, about,
                 sbn__seconds() - begun);
}

totals try_scenario(const scenario *s, int points, const share *own)
{
    totals t = {.points = 0};
    record right;
    const double begun = sbn__seconds();
    stalls_begin();
    run whole = try_run(s, &right, 0, 0);
    const long before = wraps_own_calls();
    if (!*whole.wrong)
        whole = make_run(s, &right, 0, 0, 1);
    t.calls = (int)(wraps_own_calls() - before);
    snprintf(t.why, sizeof t.why, "%.250s", whole.wrong);
    const int stride = points > 0 && t.calls > points ? t.calls / points : 1;
    for (int n = 1 + own->part * stride; !*t.why; n += own->parts * stride) {
        const run r = try_run(s, &right, n, 0);
        if (r.first < 0)
            break;
        ++t.points;
        judge(&t, &r, n, 0);
        if (points >= 0)
            try_pairs(&t, s, &right, n, points == 0);
        tell(s, own, t.calls / stride, begun);
    }
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

void report_scenario(const scenario *s, const totals *t, int points)
{
    char of[32];
    if (points > 0)
        snprintf(of, sizeof of, "%d of about %d", t->points, t->calls);
    else
        snprintf(of, sizeof of, "all %d", t->points);
    tap_ok(t->points > 0 && t->wrong == 0 && !*t->why,
           "%s: %s points, %d of two failures; %d survived, %d wrong %s", s->name, of, t->pairs,
           t->survived, t->wrong, t->why);
}
