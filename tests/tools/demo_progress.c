/* The demo's estimate of the time left of a training. */
#include <math.h>

#include "fashion/progress.h"
#include "support/tap.h"

int main(void)
{
    enum { STEPS = 3750 };
    struct progress p = {.total = STEPS, .begun = 100};
    double now = 100, wrong = 0;

    tap_ok(progress_left(&p, now + 60) < 0, "no estimate before the first step");
    while (progress_left(&p, now) < 0 && p.done < STEPS) {
        ++p.done;
        now += 1.0 / 60;
    }
    tap_ok(now > 101 && p.done < 200, "an estimate after %zu steps, in %.1f s", p.done, now - 100);
    for (; p.done < STEPS; ++p.done, now += 1.0 / 60)
        wrong = fmax(wrong, fabs(progress_left(&p, now) - (double)(STEPS - p.done) / 60));
    tap_ok(wrong < 1, "estimates are wrong by at most %.1f s", wrong);
    tap_ok(progress_left(&p, now) == 0, "and none is left at the end");
    return tap_done();
}
