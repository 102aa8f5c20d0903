/*
 * A problem (check/problem.h) taken through its stages, so that a test can change the numbers
 * between making and running it; and the devices it runs on.
 */
#pragma once

#include "check/check.h"
#include "check/devices.h"

typedef struct trial {
    problem p;
    placement g;
    inputs in;
    outputs out;
} trial;

/*
 * Makes a trial of a line; lines are constants of the tests, so one that cannot be read ends the
 * program. `replicas` is for lines that leave the number open. Free it in any case.
 */
void trial_make(trial *t, const char *line, size_t replicas);
int trial_run(trial *t, queues *r, char *error);
void trial_free(trial *t);

/* Queues on the first PoCL device. Returns NULL with a sentence in `error` (RUNNER_ERROR characters) without them. */
queues *trial_pocl(const char *build_options, char *error);

/*
 * The rest of a test's main: runs `check` on every usable device, one after the other, and returns
 * the program's result. Without any the test is skipped; a device that fails otherwise ends the program.
 */
typedef void trial_check(queues *r, const device_info *device);
int trial_every_device(trial_check *check);

/* Of long lists of problems a test takes a sample, and all of them where CHECK=full is set (make release-check). */
int sample_only(void);

/*
 * Whether a sample has a problem in the GPU form of the kernels too, which a CPU compiles for minutes:
 * those of floats, of halves, and of floats with one fusion.
 */
int sample_has_gpu_form(const char *line);
