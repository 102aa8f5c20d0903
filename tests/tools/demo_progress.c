/* The demo's estimate of the time left: the first steps, which compile kernels, are no part of it. */
#include <math.h>

#include "../examples/fashion/progress.h"
#include "support/tap.h"

int main(void)
{
    enum { STEPS = 7500 };
    struct progress p = {.total = STEPS};
    double now = 100;
    int early = 0;

    /* Half a minute and 8 seconds of compilation, then 60 steps a second. */
    progress_count(&p, now += 30);
    early += progress_left(&p, now) < 0;
    progress_count(&p, now += 8);
    early += progress_left(&p, now) < 0;
    progress_count(&p, now += 1.0 / 60);
    early += progress_left(&p, now) < 0;
    tap_ok(early == 3, "no estimate after the first steps: %d of 3", early);
    while (progress_left(&p, now) < 0 && p.done < STEPS)
        progress_count(&p, now += 1.0 / 60);
    const double left = progress_left(&p, now), right = (double)(STEPS - p.done) / 60;
    tap_ok(p.done < 200, "an estimate after %zu steps", p.done);
    tap_ok(fabs(left - right) < 1, "the first estimate is %.1f s, %.1f s are right", left, right);

    struct progress one = {.total = 1};
    progress_count(&one, 30);
    tap_ok(progress_left(&one, 30) < 0, "a training of one step has no estimate");
    return tap_done();
}
