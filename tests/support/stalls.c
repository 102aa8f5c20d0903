#include "support/stalls.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/clock.h"
#include "support/fixture.h"

/* Seconds between two looks of the watching thread. */
#define INTERVAL 0.01

static pthread_t watcher;
static atomic_int watching;
static atomic_long looks;
static double begun;
static _Atomic double longest;
static int spoiled;

void pause_for(double seconds)
{
    const struct timespec time = {(time_t)seconds,
                                  (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

static void *watch(void *unused)
{
    double before = begun;
    while (atomic_load(&watching)) {
        pause_for(INTERVAL);
        const double now = sbn__seconds(), stall = now - before - INTERVAL;
        if (stall > atomic_load(&longest))
            atomic_store(&longest, stall);
        before = now;
        atomic_fetch_add(&looks, 1);
    }
    return unused;
}

void stalls_begin(void)
{
    atomic_store(&longest, 0.0);
    atomic_store(&watching, 1);
    begun = sbn__seconds();
    must(pthread_create(&watcher, NULL, watch, NULL), "pthread_create");
}

double stalls_longest(void)
{
    /* The watcher may not have run since a stall that has just ended. */
    const long enough = atomic_load(&looks) + 2;
    while (atomic_load(&looks) < enough)
        pause_for(INTERVAL);
    return atomic_load(&longest);
}

void stalls_forget(void)
{
    atomic_store(&longest, 0.0);
}

void stalls_end(void)
{
    atomic_store(&watching, 0);
    must(pthread_join(watcher, NULL), "pthread_join");
}

static int is_spoiled(void)
{
    return spoiled = spoiled || stalls_longest() >= 0.1;
}

void stalls_excuse(void (*checks)(void))
{
    for (int again = 4; again >= 0; --again) {
        spoiled = 0;
        tap_excuse(again ? is_spoiled : NULL);
        stalls_begin();
        checks();
        stalls_end();
        if (!spoiled)
            break;
        tap_note("the machine stopped this process for %.2g s: all is checked again",
                 atomic_load(&longest));
    }
    tap_excuse(NULL);
}
