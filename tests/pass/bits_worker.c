#include <stdio.h>
#include <string.h>

#include "pass/bits.h"
#include "support/trial.h"

/* "digest CONFIGURATION SUBJECT WIDE DIGEST..." or "failed CONFIGURATION SUBJECT sentence" */
static void run(runner *r, size_t c, size_t s)
{
    char line[PROBLEM_LINE], error[RUNNER_ERROR];
    trial t;
    snprintf(line, sizeof line, "%s,%s", subjects[s].line, configurations[c].settings);
    trial_make(&t, line, 1);
    if (trial_run(&t, r, error)) {
        printf("failed %zu %zu %s\n", c, s, error);
    } else {
        printf("digest %zu %zu %d", c, s, t.out.wide);
        for (int id = 0; id < OUTPUTS; ++id)
            printf(" %llx", (unsigned long long)t.out.of[id].digest);
        printf("\n");
    }
    fflush(stdout);
    trial_free(&t);
}

int bits_worker(const char *machine_name)
{
    char error[RUNNER_ERROR];
    const machine *m = machines;
    while (strcmp(m->name, machine_name))
        ++m;
    runner *r = trial_runner(m->devices, NULL, error);
    if (!r) {
        printf("missing %s\n", error);
        return 0;
    }
    for (size_t c = 0; c < configuration_count; ++c)
        for (size_t s = 0; s < subject_count; ++s)
            if (bits_runs(m, c, s))
                run(r, c, s);
    runner_destroy(r);
    return 0;
}
