/*
 * Every call into OpenCL and every allocation in the life of an sbn_data_parallel fails once, alone
 * with two replicas and on one of two ranks: each failure is reported, with a sentence and no
 * event, by both ranks if it concerns both; nothing leaks; and what has not failed goes on with the
 * right bits.
 */
#include <stdio.h>
#include <string.h>

#include "support/exchanges.h"
#include "base/memory.h"
#include "support/stalls.h"
#include "support/wraps.h"

static fixture device;
static uint64_t mean;

typedef struct life {
    sbn_data_parallel *parallel;
    exchange_tensors first, second;
} life;

static life lives[2];

static int make(life *l, sbn_group *group)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = 8192;
    return sbn_data_parallel_create(group, &config, &l->parallel);
}

static void fill(life *l, size_t first)
{
    tensors_fill(&l->first, first);
    tensors_fill(&l->second, first);
}

static int any_event(const exchange_tensors *t)
{
    int any = 0;
    for (size_t r = 0; r < t->replicas; ++r)
        any = any || t->events[r];
    return any;
}

static void drop_events(exchange_tensors *t)
{
    for (size_t r = 0; r < t->replicas; ++r) {
        if (t->events[r])
            clReleaseEvent(t->events[r]);
        t->events[r] = NULL;
    }
}

/* Keeps the first failure and its sentence. */
static void keep(int *status, char *sentence, int next)
{
    if (*status || !next)
        return;
    *status = next;
    snprintf(sentence, 512, "%s", sbn_last_error());
}

/* A small averaging, and a larger one beside it, whatever becomes of the first: as all ranks do. */
static int exchange(life *l, int *odd)
{
    sbn_exchange *small, *large;
    int status = SBN_SUCCESS;
    char sentence[512] = "";
    int first = sbn_average_gradients_begin(l->parallel, exchange_counts, 1, l->first.of, &small);
    keep(&status, sentence, first);
    int second = sbn_average_gradients_begin(l->parallel, exchange_counts, TENSORS, l->second.of,
                                             &large);
    keep(&status, sentence, second);
    if (!second)
        second = sbn_exchange_end(large);
    keep(&status, sentence, second);
    if (!first)
        first = sbn_exchange_end(small);
    keep(&status, sentence, first);
    *odd = (first && any_event(&l->first)) || (second && any_event(&l->second));
    drop_events(&l->first);
    drop_events(&l->second);
    return sbn_set_last_error(status, sentence);
}

/* The n-th call fails; 0 if there were fewer. Alone. */
static int fails_alone(test_rank *m, int n)
{
    life *l = &lives[0];
    const long before = sbn__handles_open();
    int odd = 0;
    l->parallel = NULL;
    fill(l, 0);
    wraps_fail(WRAP_ANY, n);
    int status = make(l, m->group);
    if (!status)
        status = exchange(l, &odd);
    const int failed = wraps_failed(), spoken = *sbn_last_error() != '\0';
    wraps_fail(WRAP_ANY, 0);
    const char *name = failed < 0 ? "" : wraps_names[failed];
    /* Whether a result has been written may be asked when all has been said: see below. */
    const int late = failed == WRAP_EVENT_INFO && !status;
    if (failed >= 0 && !late && (!status || !spoken || odd))
        tap_ok(0, "alone, call %d, %s: %s, %s sentence, %s event", n, name, sbn_strerror(status),
               spoken ? "a" : "no", odd ? "an" : "no");
    if (failed < 0 && status)
        tap_ok(0, "alone, no fault: %s", sbn_last_error());
    if (failed >= 0 && l->parallel) {
        fill(l, 0);
        status = exchange(l, &odd);
        if (status != SBN_GROUP_FAILED &&
            (late || status || tensors_digest(&l->second, NULL) != mean))
            tap_ok(0, "alone, call %d, %s: again: %s: %s", n, name, sbn_strerror(status),
                   sbn_last_error());
    }
    clFinish(m->queue);
    sbn_data_parallel_destroy(l->parallel);
    if (sbn__handles_open() != before)
        tap_ok(0, "alone, call %d, %s: %ld handles left", n, name, sbn__handles_open() - before);
    return failed >= 0;
}

/* --- one of two ranks ------------------------------------------------------------- */

static int fault, happened, odd_of[2]; /* fault 0: none */
static long left;                      /* handles, over all lives */

static int create(test_rank *m)
{
    expect_leaks();
    return rank_says(m, make(&lives[m->rank], m->group));
}

static int destroy(test_rank *m)
{
    clFinish(m->queue);
    sbn_data_parallel_destroy(lives[m->rank].parallel);
    return SBN_SUCCESS;
}

static int exchange_with_fault(test_rank *m)
{
    expect_leaks();
    fill(&lives[m->rank], (size_t)m->rank);
    if (m->rank == 1)
        wraps_fail(WRAP_ANY, fault);
    rank_says(m, exchange(&lives[m->rank], &odd_of[m->rank]));
    if (m->rank == 1) {
        happened = wraps_failed();
        wraps_fail(WRAP_ANY, 0);
    }
    m->digest = tensors_digest(&lives[m->rank].second, NULL);
    return m->status;
}

static int is_right(const test_ranks *all)
{
    return all->of[0].status == SBN_SUCCESS && all->of[1].status == SBN_SUCCESS &&
           all->of[0].digest == mean && all->of[1].digest == mean;
}

/* A rank that cannot be told times out, and leaks its words. */
static int fails_together(test_ranks *all, int n, int *timeouts)
{
    const long before = sbn__handles_open();
    const test_rank *m = all->of;
    ranks_do(all, create);
    if (m[0].status || m[1].status)
        tap_ok(0, "together, no fault yet: %s: %s", m[0].sentence, m[1].sentence);
    fault = n;
    ranks_do(all, exchange_with_fault);
    const char *name = happened < 0 ? "" : wraps_names[happened];
    const int any = happened >= 0, late = m[0].status == SBN_TIMEOUT;
    const int unnoticed = happened == WRAP_EVENT_INFO && !m[1].status;
    if (any && !unnoticed && (!m[1].status || !*m[1].sentence || odd_of[0] || odd_of[1]))
        tap_ok(0, "together, call %d, %s: %s: %s; events %d %d", n, name, sbn_strerror(m[1].status),
               m[1].sentence, odd_of[0], odd_of[1]);
    if (any && m[0].status && !late && !holds_words(m[0].sentence, "rank 1"))
        tap_ok(0, "together, call %d, %s: the other: %s", n, name, m[0].sentence);
    if (!any && !is_right(all))
        tap_ok(0, "together, no fault: %s %s", m[0].sentence, m[1].sentence);
    fault = 0;
    ranks_do(all, exchange_with_fault);
    const int dead = m[1].status == SBN_GROUP_FAILED || m[1].status == SBN_TIMEOUT;
    if (!dead && (unnoticed || !is_right(all)))
        tap_ok(0, "together, call %d, %s: again: %s: %s", n, name, sbn_strerror(m[1].status),
               m[1].sentence);
    ranks_do(all, destroy);
    *timeouts += late;
    if (late)
        tap_note("call %d, %s: the other has waited", n, name);
    if (!late && !dead)
        left += sbn__handles_open() - before;
    return any;
}

static void open_lives(test_ranks *all)
{
    for (int i = 0; i < all->count; ++i) {
        tensors_open(&lives[i].first, &all->of[i]);
        tensors_open(&lives[i].second, &all->of[i]);
    }
}

static void close_lives(test_ranks *all)
{
    for (int i = 0; i < all->count; ++i) {
        tensors_close(&lives[i].first);
        tensors_close(&lives[i].second);
    }
}

static void check_alone(void)
{
    const size_t two[] = {2}, samples[] = {1, 1};
    test_ranks all;
    int n = 1, odd;
    ranks_open(&all, &device, 1, two, samples, NULL);
    open_lives(&all);
    fill(&lives[0], 0);
    must(make(&lives[0], all.of[0].group), "no fault");
    must(exchange(&lives[0], &odd), "no fault");
    mean = tensors_digest(&lives[0].second, NULL);
    const long calls = wraps_calls(WRAP_ALLOCATE) + wraps_calls(WRAP_CREATE_BUFFER);
    for (int i = 0; i < 20; ++i)
        must(exchange(&lives[0], &odd), "no fault");
    const long more = wraps_calls(WRAP_ALLOCATE) + wraps_calls(WRAP_CREATE_BUFFER) - calls;
    tap_ok(more == 0, "exchanges of a known size allocate nothing: %ld", more);
    sbn_data_parallel_destroy(lives[0].parallel);
    while (fails_alone(&all.of[0], n))
        ++n;
    tap_ok(mean && n > 100, "alone: %d calls failed, one in each life", n - 1);
    close_lives(&all);
    ranks_close(&all);
}

static void check_together(void)
{
    const size_t ones[] = {1, 1}, samples[] = {1, 1};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    test_ranks all;
    int n, timeouts = 0;
    config.timeout = 1;
    left = 0;
    ranks_open(&all, &device, 2, ones, samples, &config);
    open_lives(&all);
    /* The hub keeps what its first sums needed. */
    ranks_do(&all, create);
    ranks_do(&all, exchange_with_fault);
    ranks_do(&all, destroy);
    for (n = 1; fails_together(&all, n, &timeouts);)
        ++n;
    tap_ok(n > 50 && timeouts < n / 3, "together: %d calls failed, one in each life; %d timeouts",
           n - 1, timeouts);
    /* The hub's words for sums, of which it needs one or two more where threads run apart. */
    tap_ok(left <= 4, "together: %ld handles left of all lives", left);
    close_lives(&all);
    ranks_close(&all);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    check_alone();
    stalls_excuse(check_together, 0.3);
    fixture_close(&device);
    return tap_done();
}
