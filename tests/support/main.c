/* Not in fixture.c, because the shared library, with which that is linked too, hides sbn__handles_open. */
#include "support/main.h"

#include "base/memory.h"
#include "support/stalls.h"

fixture device;
cl_command_queue queue;
char **main_arguments;

/* Of support/tap_mpi.h: a program that is not an MPI job has neither. */
void tap_mpi_begin(int *argc, char ***argv) __attribute__((weak));
int mpi_job_end(int result) __attribute__((weak));

/* A program has one of them. */
void checks(void) __attribute__((weak));
void checks_of_deadlines(void) __attribute__((weak));

static void check_handles(void)
{
    const long at_start = sbn__handles_open();
    queue = fixture_queue(&device, 0);
    checks();
    tap_ok(sbn__handles_open() == at_start && sbn_device_memory() == 0,
           "no handle is left open, and no memory of devices is counted");
    clReleaseCommandQueue(queue);
}

static int make_checks(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    if (checks_of_deadlines) {
        expect_leaks();
        stalls_excuse(checks_of_deadlines);
    } else {
        check_handles();
    }
    fixture_close(&device);
    return tap_done();
}

int main(int argc, char **argv)
{
    must(!checks && !checks_of_deadlines, "a program with checks");
    if (tap_mpi_begin)
        tap_mpi_begin(&argc, &argv);
    main_arguments = argv;
    const int result = make_checks();
    return mpi_job_end ? mpi_job_end(result) : result;
}
