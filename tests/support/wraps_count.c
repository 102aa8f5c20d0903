/* Which call fails, and what is held: for all files of wrapped functions. */
#include <errno.h>
#include <stdatomic.h>

#include "support/wraps.h"

#define WRAPS_NAME(number, name) name,
const char *const wraps_names[WRAPS] = {WRAPPED(WRAPS_NAME)};

static atomic_long calls[WRAPS], held[WRAPS_KINDS];
static _Thread_local long own_calls;
static _Thread_local int wanted, countdown, failed = -1;
static _Thread_local int again, failed_again = -1, paused;

long wraps_calls(int function)
{
    return atomic_load(&calls[function]);
}

long wraps_own_calls(void)
{
    return own_calls;
}

long wraps_held(int kind)
{
    return atomic_load(&held[kind]);
}

void wraps_hold(int kind, long more)
{
    atomic_fetch_add(&held[kind], more);
}

void wraps_fail(int function, int n)
{
    wanted = function;
    countdown = n;
    own_calls = 0;
    again = 0;
    failed = failed_again = -1;
}

void wraps_fail_again(int n)
{
    again = n;
}

int wraps_failed(void)
{
    return failed;
}

int wraps_failed_again(void)
{
    return failed_again;
}

void wraps_pause(void)
{
    ++paused;
}

void wraps_resume(void)
{
    --paused;
}

static int is_wanted(int function)
{
    return wanted == WRAP_EVERY || (wanted == WRAP_ANY && function <= WRAP_RETAIN_EVENT) ||
           (wanted == WRAP_SYMMETRIC && function >= WRAP_MALLOC &&
            function <= WRAP_MPI_IALLREDUCE) ||
           wanted == function;
}

int wraps_errno = EIO;

static int error_of(int function)
{
    return function == WRAP_MALLOC || function == WRAP_CALLOC ? ENOMEM : wraps_errno;
}

/* After the first failure. */
static int fails_again(int function)
{
    if (again == 0 || (again > 0 && --again > 0))
        return 0;
    failed_again = function;
    errno = error_of(function);
    return 1;
}

int wraps_fails(int function)
{
    if (paused)
        return 0;
    atomic_fetch_add(&calls[function], 1);
    if (!is_wanted(function))
        return 0;
    ++own_calls;
    if (countdown == 0)
        return failed >= 0 && fails_again(function);
    if (--countdown > 0)
        return 0;
    failed = function;
    errno = error_of(function);
    return 1;
}
