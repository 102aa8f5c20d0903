#include "support/main.h"

char **main_arguments;

/* Of support/ranks.h: a program that is not an MPI job has neither. */
void ranks_begin(int *argc, char ***argv) __attribute__((weak));
int ranks_end(int result) __attribute__((weak));

int main(int argc, char **argv)
{
    if (ranks_begin)
        ranks_begin(&argc, &argv);
    main_arguments = argv;
    const int result = fixture_main(&device, &queue, checks);
    return ranks_end ? ranks_end(result) : result;
}
