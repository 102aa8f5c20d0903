/*
 * Members that do not come to an exchange, and transports that break: the
 * others return with a sentence, and what joined them is dead; batch norm's own
 * requests are others, and go on.
 */
#include <stdio.h>
#include <string.h>

#include "support/exchanges.h"
#include "base/memory.h"

static fixture device;

static sbn_data_parallel *joined[MEMBERS_MAX];
static exchange_tensors tensors[MEMBERS_MAX];

static int join(member *m)
{
    sbn_data_parallel_config config = SBN_DATA_PARALLEL_CONFIG_INIT;
    config.bucket_bytes = 4096;
    expect_leaks();
    joined[m->rank] = NULL;
    tensors_open(&tensors[m->rank], m);
    return member_says(m, sbn_data_parallel_create(m->group, &config, &joined[m->rank]));
}

static int leave(member *m)
{
    tensors_close(&tensors[m->rank]);
    sbn_data_parallel_destroy(joined[m->rank]);
    return SBN_SUCCESS;
}

static int average(member *m)
{
    expect_leaks();
    return member_says(m, sbn_average_gradients(joined[m->rank], exchange_counts, TENSORS,
                                                tensors[m->rank].of));
}

static int average_without_2(member *m)
{
    return m->rank == 2 ? SBN_SUCCESS : average(m);
}

static int average_late(member *m)
{
    return m->rank == 2 ? average(m) : SBN_SUCCESS;
}

static void open_four(members *all)
{
    const size_t some[] = {1, 0, 1, 1}, samples[] = {3, 2, 3};
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.timeout = 0.5;
    config.on_timeout = SBN_TIMEOUT_LOCAL;
    members_open(all, &device, 4, some, samples, &config);
    members_do(all, join);
}

/* Rank 1 has no replica and takes no part; ranks keep the numbers that they have in the group. */
static void check_absent(void)
{
    members all;
    open_four(&all);
    members_do(&all, average_without_2);
    for (int rank = 0; rank < 4; rank += 3)
        member_expect(&all.of[rank], SBN_TIMEOUT,
                      "waited 0.5 s in averaging of 7 tensors, 6149 floats for rank 2",
                      "a rank is absent");
    member_expect(&all.of[1], SBN_SUCCESS, "", "a rank without replicas waits for nobody");
    members_do(&all, average_without_2);
    member_expect(&all.of[0], SBN_GROUP_FAILED, "rank 0: an exchange failed earlier|for rank 2",
                  "afterwards it is dead");
    members_do(&all, average_late);
    member_expect(&all.of[2], SBN_TIMEOUT, "rank 2 waited 0.5 s|for ranks 0, 3", "the late rank");
    members_do(&all, leave);
    members_do(&all, member_train);
    for (int rank = 0; rank < 4; ++rank) {
        member_expect(&all.of[rank], SBN_SUCCESS, "", "batch norm goes on");
        tap_ok(all.of[rank].result.synchronised, "rank %d: synchronised", rank);
    }
    members_close(&all);
}

/* Rank 2 begins, and does not come to the end. */
static sbn_exchange *left;

static int stay_away(member *m)
{
    expect_leaks();
    if (m->rank != 2)
        return average(m);
    return member_says(m, sbn_average_gradients_begin(joined[2], exchange_counts, TENSORS,
                                                      tensors[2].of, &left));
}

static int come_at_last(member *m)
{
    return m->rank == 2 ? member_says(m, sbn_exchange_end(left)) : SBN_SUCCESS;
}

static void check_stopped(void)
{
    members all;
    open_four(&all);
    members_do(&all, stay_away);
    for (int rank = 0; rank < 4; rank += 3)
        member_expect(&all.of[rank], SBN_TIMEOUT,
                      "waited 0.5 s in averaging of 7 tensors, 6149 floats for rank",
                      "a rank does not go on");
    members_do(&all, come_at_last);
    member_expect(&all.of[2], SBN_TIMEOUT, "rank 2 waited 0.5 s", "it comes at last");
    members_do(&all, leave);
    members_close(&all);
}

/* --- a transport that breaks ------------------------------------------------------- */

/* Between a member and the hub: the n-th start or test of the part fails. */
typedef struct breaking {
    sbn_transport real;
    int is_part, fail_start, fail_test;
} breaking;

static breaking wholes[2], parts[2];

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    breaking *b = context;
    if (b->is_part && b->fail_start > 0 && --b->fail_start == 0)
        return 77;
    return b->real.start(b->real.context, tag, words, count, request);
}

static int test(void *context, void *request, int *done)
{
    breaking *b = context;
    if (b->is_part && b->fail_test > 0 && --b->fail_test == 0)
        return -5;
    return b->real.test(b->real.context, request, done);
}

static int missing(void *context, void *request, int *ranks)
{
    const breaking *b = context;
    return b->real.missing(b->real.context, request, ranks);
}

static void end(void *context)
{
    const breaking *b = context;
    b->real.end(b->real.context);
}

static int split(void *context, const int *ranks, int count, int number, sbn_transport *part)
{
    breaking *b = context, *its = &parts[b->real.rank];
    its->is_part = 1;
    its->real.size = sizeof its->real;
    const int status = b->real.split(b->real.context, ranks, count, number, &its->real);
    *part = its->real;
    part->context = its;
    part->start = start;
    part->test = test;
    part->missing = missing;
    part->end = end;
    return status;
}

static void check_breaking(int fail_start, int fail_test)
{
    sbn_hub *hub;
    members all;
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    config.timeout = 0.5;
    must(sbn_hub_create(2, &hub), "sbn_hub_create");
    memset(&all, 0, sizeof all);
    all.count = 2;
    for (int rank = 0; rank < 2; ++rank) {
        member *m = &all.of[rank];
        wholes[rank] = (breaking){.is_part = 0};
        parts[rank] = (breaking){.fail_start = rank ? fail_start : 0,
                                 .fail_test = rank ? fail_test : 0};
        wholes[rank].real.size = sizeof(sbn_transport);
        must(sbn_hub_transport(hub, rank, &wholes[rank].real), "sbn_hub_transport");
        sbn_transport table = wholes[rank].real;
        table.context = &wholes[rank];
        table.start = start;
        table.test = test;
        table.missing = missing;
        table.split = split;
        m->rank = rank;
        m->replicas = 1;
        m->queue = fixture_queue(&device, 0);
        config.queues = &m->queue;
        config.replicas = 1;
        config.transport = &table;
        must(sbn_group_create(&config, &m->group), "sbn_group_create");
    }
    members_do(&all, join);
    const int made = joined[0] && joined[1];
    if (made)
        members_do(&all, average);
    char words[64];
    snprintf(words, sizeof words, "rank 1: the transport's %s",
             fail_start ? "start returned 77" : "test returned -5");
    member_expect(&all.of[1], SBN_TRANSPORT_ERROR, words, "the transport breaks");
    /* It may have had all it needed of rank 1 before. */
    tap_ok(all.of[0].status == SBN_TIMEOUT || all.of[0].status == SBN_SUCCESS,
           "the other one: %s: %s", sbn_strerror(all.of[0].status), all.of[0].sentence);
    if (made) {
        members_do(&all, average_late);
        const int status = sbn_average_gradients(joined[1], exchange_counts, TENSORS,
                                                 tensors[1].of);
        expect(status, SBN_GROUP_FAILED, words, "afterwards it is dead");
    }
    members_do(&all, leave);
    for (int rank = 0; rank < 2; ++rank) {
        sbn_group_destroy(all.of[rank].group);
        clReleaseCommandQueue(all.of[rank].queue);
    }
    sbn_hub_destroy(hub);
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    expect_leaks();
    check_absent();
    check_stopped();
    /* The first is sbn_data_parallel_create's, then a header, levels, sums, ... */
    for (int n = 1; n <= 6; ++n)
        check_breaking(n, 0);
    for (int n = 1; n <= 16; n += 5)
        check_breaking(0, n);
    fixture_close(&device);
    return tap_done();
}
