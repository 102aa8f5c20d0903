#include "support/main.h"

char **main_arguments;

/* Of support/tap_mpi.h: a program that is not an MPI job has neither. */
void tap_mpi_begin(int *argc, char ***argv) __attribute__((weak));
int mpi_job_end(int result) __attribute__((weak));

/* A program has one of them. */
void checks(void) __attribute__((weak));
void checks_of_deadlines(void) __attribute__((weak));

int main(int argc, char **argv)
{
    must(!checks && !checks_of_deadlines, "a program with checks");
    if (tap_mpi_begin)
        tap_mpi_begin(&argc, &argv);
    main_arguments = argv;
    const int result = checks_of_deadlines ? fixture_main_waits(&device, checks_of_deadlines)
                                           : fixture_main(&device, &queue, checks);
    return mpi_job_end ? mpi_job_end(result) : result;
}
