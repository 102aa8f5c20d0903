/* Not in fixture.c, because the shared library, with which that is linked too, hides sbn__handles_open. */
#include "base/memory.h"
#include "support/main.h"
#include "support/stalls.h"

fixture device;
cl_command_queue queue;

int fixture_main(fixture *f, cl_command_queue *on, void (*make)(void))
{
    if (fixture_open(f))
        return fixture_missing();
    const long at_start = sbn__handles_open();
    if (on)
        *on = fixture_queue(f, 0);
    make();
    tap_ok(sbn__handles_open() == at_start && sbn_device_memory() == 0,
           "no handle is left open, and no memory of devices is counted");
    if (on)
        clReleaseCommandQueue(*on);
    fixture_close(f);
    return tap_done();
}

int fixture_main_waits(fixture *f, void (*make)(void))
{
    if (fixture_open(f))
        return fixture_missing();
    expect_leaks();
    stalls_excuse(make, 0.1);
    fixture_close(f);
    return tap_done();
}
