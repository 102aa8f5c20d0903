/*
 * Not in fixture.c, because the shared library, with which that is linked too, hides
 * sbn__handles_open.
 */
#include "base/memory.h"
#include "support/fixture.h"
#include "support/stalls.h"
#include "support/tap.h"

int fixture_main(fixture *f, cl_command_queue *queue, void (*checks)(void))
{
    if (fixture_open(f))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    if (queue)
        *queue = fixture_queue(f, 0);
    checks();
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    if (queue)
        clReleaseCommandQueue(*queue);
    fixture_close(f);
    return tap_done();
}

int fixture_main_waits(fixture *f, void (*checks)(void))
{
    if (fixture_open(f))
        return fixture_missing();
    expect_leaks();
    stalls_excuse(checks, 0.1);
    fixture_close(f);
    return tap_done();
}
