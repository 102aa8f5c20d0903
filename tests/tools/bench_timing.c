/* Medians and quartiles by hand; and that rounds are what they say. */
#include <math.h>
#include <string.h>

#include "bench/timing.h"
#include "support/tap.h"

static void check_spreads(void)
{
    const double even[] = {4, 1, 3, 2}, holes[] = {NAN, 8, NAN, 2, 4}, none[] = {NAN, NAN};
    const double a[] = {2, 9, NAN, 12}, b[] = {1, 3, 5, 6}, one[] = {7};
    const struct {
        const char *what;
        spread got, right;
    } list[] = {
        {"four values", spread_of(even, 4), {4, 1, 1.75, 2.5, 3.25, 4}},
        {"one value", spread_of(one, 1), {1, 7, 7, 7, 7, 7}},
        {"rounds that were sat out", spread_of(holes, 5), {3, 2, 3, 4, 6, 8}},
        {"quotients of rounds", spread_of_quotients(a, b, 4), {3, 2, 2, 2, 2.5, 3}},
        {"differences of rounds", spread_of_differences(a, b, 4), {3, 1, 3.5, 6, 6, 6}},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; ++i) {
        const spread *got = &list[i].got, *right = &list[i].right;
        tap_ok(memcmp(got, right, sizeof *got) == 0,
               "%s: expected %zu values around %g, got %zu values %g %g %g %g %g", list[i].what,
               right->count, right->median, got->count, got->least, got->quartile1, got->median,
               got->quartile3, got->most);
    }
    const spread empty = spread_of(none, 2);
    tap_ok(empty.count == 0 && isnan(empty.median) && isnan(empty.least) && isnan(empty.most),
           "nothing measured: expected NaN, got %g", empty.median);
}

/* A contender that writes down when it ran. */
typedef struct fake {
    int number, runs;
    int fails_at; /* this run; 0: none */
} fake;

static int order[4096], ran;

static int run(void *self, bench_pass pass)
{
    fake *f = self;
    (void)pass;
    if (ran < 4096)
        order[ran++] = f->number;
    return ++f->runs == f->fails_at ? SBN_OUT_OF_MEMORY : SBN_SUCCESS;
}

static int finished;

static int finish(void *self)
{
    (void)self;
    ++finished;
    return SBN_SUCCESS;
}

enum { FAKES = 4 };

static series list[FAKES];
static contender contenders[FAKES];
static size_t rounds;

static int time_fakes(fake fakes[FAKES], const timing_budget *budget)
{
    ran = 0;
    for (int i = 0; i < FAKES; ++i) {
        fakes[i].number = i;
        /* The first of all spins: it is to come last in each round all the same. */
        contenders[i] = (contender){.name = "fake", .self = &fakes[i], .run = run, .spins = i == 0};
        list[i] = (series){.of = &contenders[i], .pass = BENCH_COPY};
    }
    return timing_run(list, FAKES, budget, &rounds);
}

static void check_rounds(void)
{
    fake fakes[FAKES] = {{.runs = 0}};
    const int status = time_fakes(fakes, &(timing_budget){.rounds = 20});
    tap_ok(!status && rounds == 20 && ran == FAKES * 21,
           "20 rounds of %d and one before: status %d, %zu rounds, %d runs", FAKES, status, rounds,
           ran);
    int times = 1, last = 1, differ = 0;
    for (int i = 0; i < FAKES; ++i)
        times &= fakes[i].runs == 21 && spread_of(list[i].seconds, rounds).count == 20;
    for (int round = 1; round <= 20; ++round) {
        const int *in = order + FAKES * round;
        last &= in[FAKES - 1] == 0;
        differ |= memcmp(in, order + FAKES, FAKES * sizeof *in) != 0;
    }
    tap_ok(times, "each ran once a round, and each round has its time");
    tap_ok(last, "what spins comes last in each round");
    tap_ok(differ, "rounds differ in their order");
}

static void check_budget(void)
{
    fake fakes[FAKES] = {{.runs = 0}}, failing[FAKES] = {[2] = {.fails_at = 5}};
    int status = time_fakes(fakes, &(timing_budget){.seconds = 0});
    tap_ok(!status && rounds == TIMING_LEAST, "no time left: expected %d rounds, got %zu",
           TIMING_LEAST, rounds);
    status = time_fakes(failing, &(timing_budget){.rounds = 20});
    tap_ok(status == SBN_OUT_OF_MEMORY && failing[2].runs == 5 && rounds == 3,
           "a run that fails ends the timing, and its round does not count: status %d after %zu "
           "rounds",
           status, rounds);
}

/* If the call returns before its pass has ended, both times are kept. */
static void check_returned(void)
{
    fake fakes[2] = {{.number = 0}, {.number = 1}};
    const contender waits = {.name = "waits", .self = &fakes[0], .run = run};
    const contender returns = {.name = "returns", .self = &fakes[1], .run = run, .finish = finish};
    int ordered = 1;
    list[0] = (series){.of = &waits, .pass = BENCH_FORWARD};
    list[1] = (series){.of = &returns, .pass = BENCH_FORWARD};
    int status = timing_run(list, 2, &(timing_budget){.rounds = 9}, &rounds);
    for (size_t i = 0; i < rounds; ++i)
        ordered &= list[1].returned[i] >= 0 && list[1].returned[i] <= list[1].seconds[i];
    tap_ok(!status && rounds == 9 && finished == 10, "a pass is finished in each round: %d times",
           finished);
    tap_ok(ordered, "its call returns before its end");
    tap_ok(spread_of(list[0].returned, rounds).count == 0,
           "a call that waits for the end has no such time");
}

int main(void)
{
    check_spreads();
    check_rounds();
    check_budget();
    check_returned();
    return tap_done();
}
