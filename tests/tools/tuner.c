/*
 * What syncbn tune takes for a gain (tools/bench/tuner.h): more than 2 %, more than the rounds' errors
 * and than two equal plans differ by, and no pass of a problem slower; and a comparison on a device.
 */
#include <math.h>
#include <stdlib.h>

#include "bench/tuner.h"
#include "support/main.h"

enum { LINES = 8 };

/* All lines alike. */
static tuner_comparison lines_of(double quotient, double error, double again)
{
    tuner_comparison c = {.count = LINES};
    for (size_t i = 0; i < LINES; ++i)
        c.lines[i] = (tuner_line){.quotient = quotient, .error = error, .again = again};
    return c;
}

static void expect_gain(int gain, tuner_comparison c, const char *what)
{
    tuner_judge(&c);
    tap_ok(c.gain == gain, "%s: expected %s, got %s: %.4f of the time, noise %.4f", what,
           gain ? "a gain" : "none", c.gain ? "a gain" : "none", c.quotient, c.noise);
}

static void judges(void)
{
    expect_gain(1, lines_of(0.9, 0.001, 1.0), "a tenth less");
    expect_gain(0, lines_of(1.0, 0.001, 1.0), "the same");
    expect_gain(0, lines_of(1.1, 0.001, 1.0), "a tenth more");
    expect_gain(0, lines_of(0.985, 0.0001, 1.0), "1.5 % less");
    expect_gain(1, lines_of(0.975, 0.0001, 1.0), "2.5 % less");
    expect_gain(0, lines_of(0.9, 0.2, 1.0), "a tenth less, with errors of a fifth");
    expect_gain(0, lines_of(0.9, 0.001, 0.85), "where an equal plan takes 15 % less");
    expect_gain(0, lines_of(0.9, 0.001, 1.15), "where an equal plan takes 15 % more");
    tuner_comparison c = lines_of(0.8, 0.001, 1.0);
    c.lines[3].quotient = 1.1;
    expect_gain(0, c, "a fifth less, but for one pass that is slower");
    c.lines[3].error = 0.1;
    expect_gain(1, c, "which may be chance");
    c.lines[3].quotient = NAN;
    expect_gain(0, c, "a line without a figure");
}

/* The numbers of a comparison: they are of the problems and passes asked for. */
static void compares(void)
{
    static const char *const lines[] = {"mb4ic16ih9iw9", "mb4ic16ih9iw9,last"};
    problem parsed[2];
    const problem *problems[2] = {&parsed[0], &parsed[1]};
    char error[RUNNER_ERROR] = "";
    const device_info info = {.id = device.device};
    const sbn_tuning plan = {{0}}, other = {{50, 1, 10000, 1, 1}};
    tuner_comparison result;
    tuner t;
    for (int i = 0; i < 2; ++i)
        must(problem_parse(lines[i], &parsed[i], error, sizeof error), lines[i]);
    setenv("SYNCBN_TUNING", "no tuning", 1);
    for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
        must(tuner_open(&t, &info, form, problems, 2, error), "tuner_open");
        const int status = tuner_compare(&t, &plan, &other, 0, &result);
        tap_ok(status == SBN_SUCCESS && result.count == 4, "form %d: %zu lines%s%s", (int)form,
               result.count, *error ? ": " : "", error);
        for (size_t i = 0; i < result.count; ++i) {
            const tuner_line *l = &result.lines[i];
            tap_ok(l->of == problems[i / 2] && l->is_backward == (int)(i % 2) && l->before > 0 &&
                       l->after > 0 && l->quotient > 0 && l->error >= 0 && l->again > 0,
                   "%s %s: %g s, then %g", lines[i / 2], i % 2 ? "backward" : "forward", l->before,
                   l->after);
        }
        tap_ok(getenv("SYNCBN_TUNING") == NULL, "the environment has no numbers left");
        tuner_close(&t);
    }
}

void checks(void)
{
    judges();
    compares();
}
