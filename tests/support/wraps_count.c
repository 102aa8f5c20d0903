/* Which call fails, and what is held: for all files of wrapped functions. */
#include <errno.h>

#include "support/wraps.h"

#define WRAPS_NAME(number, name) name,
const char *const wraps_names[WRAPS] = {WRAPPED(WRAPS_NAME)};

atomic_long wraps_calls[WRAPS], wraps_held[WRAPS_KINDS];
_Thread_local long wraps_own_calls;
_Thread_local int wraps_fail_again, wraps_failed = -1, wraps_failed_again = -1;
static _Thread_local int wanted, countdown, paused;

void wraps_fail(int function, int n)
{
    wanted = function;
    countdown = n;
    wraps_own_calls = 0;
    wraps_fail_again = 0;
    wraps_failed = wraps_failed_again = -1;
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
    if (wraps_fail_again == 0 || (wraps_fail_again > 0 && --wraps_fail_again > 0))
        return 0;
    wraps_failed_again = function;
    errno = error_of(function);
    return 1;
}

int wraps_fails(int function)
{
    if (paused)
        return 0;
    ++wraps_calls[function];
    if (!is_wanted(function))
        return 0;
    ++wraps_own_calls;
    if (countdown == 0)
        return wraps_failed >= 0 && fails_again(function);
    if (--countdown > 0)
        return 0;
    wraps_failed = function;
    errno = error_of(function);
    return 1;
}
