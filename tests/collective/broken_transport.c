/*
 * Transports whose functions fail, or whose requests never complete: the pass ends with a sentence,
 * and the group has failed.
 */
#include "base/memory.h"
#include "support/ranks.h"

static fixture device;

/* A transport that breaks: which function, and what it returns. */
typedef struct broken {
    int start_code, test_code, pending;
} broken;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    (void)tag, (void)words, (void)count;
    *request = context;
    return ((broken *)context)->start_code;
}

static int test(void *context, void *request, int *done)
{
    (void)request;
    *done = !((broken *)context)->pending;
    return ((broken *)context)->test_code;
}

/* Of 200 ranks 198 are missing: more than a sentence holds. */
static int many(void *context, void *request, int *ranks)
{
    (void)context, (void)request;
    for (int i = 0; i < 198; ++i)
        ranks[i] = i + 2;
    return 198;
}

static void check_many(void)
{
    const size_t one[] = {1}, samples[] = {3};
    broken state = {0, 0, 1};
    const sbn_transport table = {.size = sizeof table,
                                 .context = &state,
                                 .rank = 1,
                                 .world_size = 200,
                                 .start = start,
                                 .test = test,
                                 .missing = many};
    test_ranks all;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.transport = &table;
    config.timeout = 0.3;
    ranks_open(&all, &device, 1, one, samples, &config);
    rank_forward(&all.of[0]);
    expect(all.of[0].status, SBN_TIMEOUT, "waited 0.3 s|for ranks 2, 3, 4, 5,| and | more",
           "many are missing");
    ranks_close(&all);
}

static void check_broken(broken state, const char *words, const char *what)
{
    const size_t one[] = {1}, samples[] = {3};
    const sbn_transport table = {.size = sizeof table,
                                 .context = &state,
                                 .rank = 1,
                                 .world_size = 2,
                                 .start = start,
                                 .test = test};
    test_ranks all;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.transport = &table;
    config.timeout = 0.3;
    ranks_open(&all, &device, 1, one, samples, &config);
    test_rank *m = &all.of[0];
    ranks_reset(&all);
    const uint64_t before = ranks_state(&all);
    const int expected = state.pending ? SBN_TIMEOUT : SBN_TRANSPORT_ERROR;
    rank_forward(m);
    expect(m->status, expected, words, what);
    rank_forward(m);
    expect(m->status, SBN_GROUP_FAILED, words, "afterwards the group is dead");
    tap_ok(ranks_state(&all) == before, "%s: nothing has changed", what);
    ranks_close(&all);
}

static void checks(void)
{
    const long at_start = sbn__handles_open();
    check_broken((broken){77, 0, 0}, "rank 1|transport's start returned 77", "start fails");
    tap_ok(sbn__handles_open() == at_start, "no handle is left open");
    check_broken((broken){0, -5, 0}, "rank 1|transport's test returned -5", "test fails");
    tap_ok(sbn__handles_open() > at_start, "words that a request may still write stay allocated");
    check_broken((broken){0, 0, 1}, "rank 1 waited 0.3 s|the other ranks", "nobody comes");
    check_many();
    tap_note("errors have left %ld blocks allocated", sbn__handles_open() - at_start);
}

int main(void)
{
    return fixture_main_waits(&device, checks);
}
