/*
 * The MPI transport on 3 ranks: the arguments that it refuses; that the caller's
 * communicator, error handler and messages are left alone; who is missing; that errors of MPI come with a sentence
 * (tests/faults/mpi.c: what follows from them, and that communicators are freed).
 */
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <syncbn-mpi.h>

#include "support/ranks.h"
#include "support/refused.h"
#include "support/stalls.h"
#include "support/tap_mpi.h"

static fixture device;
static sbn_mpi *mpi;
static sbn_transport table = SBN_TRANSPORT_INIT;

/* MPI's profiling interface: the library's calls come through here and fail or lie on request. */
static int fail_start, fail_text, late_tests, failed_tests, pretend_size;
static const char *text_instead;
static MPI_Request last_started; /* of reductions */
static MPI_Comm reduced;         /* by the last sum of words */

int MPI_Iallreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    const int code = fail_start ? MPI_ERR_COUNT
                                : PMPI_Iallreduce(from, to, count, type, op, comm, request);
    last_started = code == MPI_SUCCESS ? *request : MPI_REQUEST_NULL;
    if (type == MPI_INT64_T)
        reduced = comm;
    return code;
}

int MPI_Error_string(int code, char *text, int *length)
{
    if (fail_text)
        return MPI_ERR_ARG;
    if (!text_instead)
        return PMPI_Error_string(code, text, length);
    *length = sprintf(text, "%s", text_instead);
    return MPI_SUCCESS;
}

int MPI_Comm_size(MPI_Comm comm, int *size)
{
    const int code = PMPI_Comm_size(comm, size);
    *size = pretend_size ? pretend_size : *size;
    return code;
}

/* What cannot be tested has ended, so that nothing is left in MPI. */
int MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    if (late_tests && *request == last_started) {
        --late_tests;
        *done = 0;
        return MPI_SUCCESS;
    }
    if (!failed_tests)
        return PMPI_Test(request, done, status);
    --failed_tests;
    PMPI_Wait(request, status);
    return MPI_ERR_OTHER;
}

/* The library's messages, to ranks and from them, and its clock. */
static int sent, received, questions, answers;
static double clock_speed = 1;

int MPI_Isend(const void *from, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    if (type == MPI_INT64_T) {
        ++sent;
        answers += *(const int64_t *)from == 1;
    }
    return PMPI_Isend(from, count, type, to, tag, comm, request);
}

int MPI_Recv(void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    const int code = PMPI_Recv(to, count, type, from, tag, comm, status);
    ++received;
    questions += *(const int64_t *)to == 0;
    return code;
}

double MPI_Wtime(void)
{
    return PMPI_Wtime() * clock_speed;
}

static void check_refused(void)
{
    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, mpi_job_rank() % 2, mpi_job_rank(), &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - mpi_job_rank() % 2, 7, &between);
    mpi = (sbn_mpi *)1;
    REFUSED(sbn_mpi_create(MPI_COMM_WORLD, NULL), "mpi: expected a place|got NULL");
    REFUSED(sbn_mpi_create(MPI_COMM_NULL, &mpi), "comm|got MPI_COMM_NULL");
    tap_ok(mpi == NULL, "no handle is left after an error");
    REFUSED(sbn_mpi_create(between, &mpi),
            "expected an intracommunicator, got an intercommunicator");
    pretend_size = SBN_MAX_WORLD_SIZE + 1;
    REFUSED(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "comm: expected at most 4095 ranks, got 4096");
    pretend_size = SBN_MAX_WORLD_SIZE;
    REFUSED(sbn_mpi_transport(NULL, &table), "mpi: expected a pointer|got NULL");
    tap_ok(sbn_mpi_destroy(NULL) == SBN_SUCCESS, "nothing is destroyed");
    MPI_Comm_free(&between);
    MPI_Comm_free(&half);
    RIGHT(sbn_mpi_create(MPI_COMM_WORLD, &mpi));
    pretend_size = 0;
    REFUSED(sbn_mpi_transport(mpi, NULL), "transport: expected a pointer|got NULL");
    clock_speed = 0;
    tap_ok(sbn_mpi_destroy(mpi) == SBN_SUCCESS &&
               holds_words(sbn_last_error(), "transport: expected a pointer|got NULL"),
           "it ends when all have come, and a failure's sentence stays: %s", sbn_last_error());
    clock_speed = 1;
}

/* --- groups --- */

static void open_ranks(test_ranks *all)
{
    ranks_open(all, &device, mpi_job_size(), NULL, NULL, NULL);
    const sbn_group *group = all->of[mpi_job_rank()].group;
    tap_ok(sbn_group_rank(group) == mpi_job_rank() && sbn_group_world_size(group) == mpi_job_size(),
           "rank %d of %d", sbn_group_rank(group), sbn_group_world_size(group));
}

static void open_table(void)
{
    table = (sbn_transport)SBN_TRANSPORT_INIT;
    must(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(mpi, &table), "sbn_mpi_transport");
}

/* All ranks come; the clock stands, so that none gives up. */
static void end_transport(void)
{
    clock_speed = 0;
    must(sbn_mpi_destroy(mpi), "sbn_mpi_destroy");
    clock_speed = 1;
}

/* A call that another thread makes. */
static int (*call)(test_rank *);

static void *run(void *rank)
{
    call(rank);
    return NULL;
}

static void refused_in_thread(int (*of)(test_rank *), test_rank *m, int status, const char *what)
{
    pthread_t thread;
    call = of;
    must(pthread_create(&thread, NULL, run, m), "pthread_create");
    pthread_join(thread, NULL);
    rank_expect(m, status, "only the thread that called MPI_Init|MPI_THREAD_SERIALIZED", what);
}

static int create(test_rank *m)
{
    return rank_says(m, sbn_mpi_create(MPI_COMM_WORLD, &mpi));
}

static int destroy(test_rank *m)
{
    return rank_says(m, sbn_mpi_destroy(mpi));
}

/* The level is MPI_THREAD_FUNNELED: only this thread may. */
static void check_threads(void)
{
    test_ranks all;
    open_ranks(&all);
    test_rank *m = &all.of[mpi_job_rank()];
    refused_in_thread(create, m, SBN_INVALID_ARGUMENT, "made by another thread");
    must(create(m), "sbn_mpi_create");
    refused_in_thread(destroy, m, SBN_INVALID_ARGUMENT, "destroyed by another thread");
    RIGHT(destroy(m));
    refused_in_thread(rank_forward, m, SBN_TRANSPORT_ERROR, "a pass by another thread");
    ranks_close(&all);
}

/* The table's own calls; MPI's sentences may have several lines, or be missing. */
static void check_table(void)
{
    int64_t words[1] = {1};
    void *request = NULL;
    sbn_transport strange = {.size = 3};
    open_table();
    REFUSED(sbn_mpi_transport(mpi, &strange), "transport: size|got 3|SBN_TRANSPORT_INIT");
    RIGHT(sbn_mpi_transport(mpi, &table));
    REFUSED(table.start(table.context, SBN_TAG_WORDS, words, (size_t)INT_MAX + 1, &request),
            "a reduction: expected at most 2147483647 words, got 2147483648");
    fail_start = 1;
    text_instead = "one call\nin another";
    expect(table.start(table.context, SBN_TAG_WORDS, words, INT_MAX, &request), SBN_TRANSPORT_ERROR,
           "MPI_Iallreduce: one call in another", "a sentence of several lines");
    fail_text = 1;
    char sentence[64];
    snprintf(sentence, sizeof sentence, "MPI_Iallreduce: error %d", MPI_ERR_COUNT);
    expect(table.start(table.context, SBN_TAG_WORDS, words, 1, &request), SBN_TRANSPORT_ERROR,
           sentence, "an error without a sentence");
    fail_start = fail_text = 0;
    text_instead = NULL;
    must(table.start(table.context, SBN_TAG_WORDS, words, 1, &request), "start");
    late_tests = 3;
    must(sbn_mpi_destroy(mpi), "what was started is waited for");
    tap_ok(late_tests == 0 && words[0] == mpi_job_size(), "until it has ended: %d", (int)words[0]);
}

/* Reductions of different tags, which ranks start in orders of their own. */
static void check_tags(void)
{
    int64_t words[SBN_TAGS];
    void *requests[SBN_TAGS];
    open_table();
    for (int i = 0; i < SBN_TAGS; ++i) {
        const int tag = mpi_job_rank() % 2 ? SBN_TAGS - 1 - i : i;
        words[tag] = 1 + tag;
        must(table.start(table.context, tag, &words[tag], 1, &requests[tag]), "start");
    }
    int wrong = 0;
    for (int tag = 0; tag < SBN_TAGS; ++tag) {
        for (int done = 0; !done; sched_yield())
            must(table.test(table.context, requests[tag], &done), "test");
        wrong += words[tag] != (1 + tag) * mpi_job_size();
    }
    tap_ok(!wrong, "%d tags, in another order on every other rank: %d wrong", SBN_TAGS, wrong);
    void *again;
    int used_again = 0;
    must(table.start(table.context, 0, words, 1, &again), "start");
    for (int tag = 0; tag < SBN_TAGS; ++tag)
        used_again += again == requests[tag];
    tap_ok(used_again == 1, "the memory of a request that has ended is used again");
    end_transport();
}

static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm, (void)code;
}

/* The caller's messages and reductions are under way all the while. */
static void check_left_alone(void)
{
    MPI_Comm mine;
    MPI_Errhandler own, found;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    const int next = (mpi_job_rank() + 1) % mpi_job_size();
    const int before = (mpi_job_rank() + mpi_job_size() - 1) % mpi_job_size();
    int token = 100 + mpi_job_rank(), got = -1, sum = 1;
    test_ranks all;
    sbn_mpi *other;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_create_errhandler(handler, &own);
    MPI_Comm_set_errhandler(mine, own);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]);
    open_ranks(&all);
    must(sbn_mpi_create(mine, &other), "sbn_mpi_create");
    test_rank *m = &all.of[mpi_job_rank()];
    RIGHT(rank_forward(m));
    /* 3 and 2 samples in turn. */
    tap_ok((int)m->result.count == (5 * mpi_job_size() + 1) / 2 * RANK_PLANE,
           "values of all ranks: %d", (int)m->result.count);
    MPI_Comm_get_errhandler(mine, &found);
    const int same = found == own;
    MPI_Errhandler_free(&found);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &found);
    tap_ok(same && found == MPI_ERRORS_ARE_FATAL, "the caller's error handlers are as they were");
    MPI_Isend(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, statuses);
    tap_ok(got == 100 + before && sum == mpi_job_size(),
           "the caller's message and sum are its own: %d, %d", got, sum);
    ranks_close(&all);
    RIGHT(sbn_mpi_destroy(other));
    MPI_Errhandler_free(&own);
    MPI_Comm_free(&mine);
}

static void finish(void *request)
{
    for (int done = 0; !done; sched_yield())
        must(table.test(table.context, request, &done), "test");
}

/* Who is missing in a reduction, as a mask, once that is what is expected: what was sent may take its time. */
static int missing_in(void *request, int expected)
{
    int ranks[3], found = 0;
    for (int n = 0; n < 5000 && (n == 0 || found != expected); ++n) {
        found = 0;
        for (int count = table.missing(table.context, request, ranks); count > 0;)
            found |= 1 << ranks[--count];
        pause_for(0.001);
    }
    return found;
}

/* Who is missing in a reduction, as the rank that asks knows, which has begun it; messages of all are received. */
static void check_missing(size_t from, size_t to)
{
    static const struct {
        int asks, tag, missing, ended; /* tags whose first reduction has ended by then */
        const char *what;
    } steps[] = {
        {0, 0, 6, 0, "nobody has been heard of"},
        {1, 1, 4, 0, "rank 0 has begun something, and rank 2 nothing"},
        {0, 0, 4, 0, "rank 1 has answered"},
        {2, 0, 2, 0, "all are heard of, and rank 0 has begun this one"},
        {0, 2, 6, 2, "all have begun others, in the same memory"},
        /* With a new transport. */
        {1, 0, 5, 0, "nobody has been heard of"},
        {0, 2, 6, 1, "rank 1 was heard of before what has ended since"},
    };
    int64_t words[SBN_TAGS] = {0};
    void *requests[SBN_TAGS] = {NULL};
    must(mpi_job_size() - 3, "three ranks");
    open_table();
    for (size_t i = from; i < to; ++i) {
        int found = steps[i].missing;
        for (int tag = 0; tag < steps[i].ended; ++tag)
            if (!requests[tag])
                must(table.start(table.context, tag, &words[tag], 1, &requests[tag]), "start");
        /* Rank 1 answers when what it answers of has ended where the question came from. */
        if (mpi_job_rank() == 1)
            mpi_job_meet();
        for (int tag = 0; tag < steps[i].ended; ++tag)
            finish(requests[tag]);
        if (mpi_job_rank() != 1)
            mpi_job_meet();
        mpi_job_meet();
        if (mpi_job_rank() == steps[i].asks) {
            void **request = &requests[steps[i].tag];
            if (!*request)
                must(table.start(table.context, steps[i].tag, &words[steps[i].tag], 1, request),
                     "start");
            found = missing_in(*request, steps[i].missing);
        }
        tap_ok(found == steps[i].missing, "rank %d asks: %s: expected %d, got %d", steps[i].asks,
               steps[i].what, steps[i].missing, found);
    }
    if (mpi_job_rank() != 0)
        must(table.start(table.context, 2, &words[2], 1, &requests[2]), "start");
    const int before = answers;
    mpi_job_meet();
    end_transport();
    int left = sent - received;
    PMPI_Allreduce(MPI_IN_PLACE, &left, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    tap_ok(answers == before && answers <= questions && questions > 0 && left == 0,
           "%d questions, %d answers, none at the end: %d are not received", questions, answers,
           left);
}

/* On rank 0 who is missing in a reduction of tag 1; elsewhere what is expected. */
static int ask(int expected, void **request)
{
    static int64_t words;
    if (mpi_job_rank() != 0)
        return expected;
    must(table.start(table.context, 1, &words, 1, request), "start");
    return missing_in(*request, expected);
}

static void end_asking(void *request)
{
    int64_t words[1] = {0};
    mpi_job_meet();
    if (mpi_job_rank() != 0)
        must(table.start(table.context, 1, words, 1, &request), "start");
    finish(request);
    end_transport();
}

/* Rank 1 says that it has begun two reductions, of which the newer one ends first. */
static void check_newer_first(void)
{
    int64_t words[2] = {0};
    void *requests[2], *request = NULL;
    int ranks[3];
    open_table();
    for (int i = 0; i < 2; ++i)
        must(table.start(table.context, 0, &words[i], 1, &requests[i]), "start");
    if (mpi_job_rank() == 1)
        table.missing(table.context, requests[1], ranks);
    mpi_job_meet();
    finish(requests[1]);
    finish(requests[0]);
    mpi_job_meet();
    const int found = ask(6, &request);
    tap_ok(found == 6, "the newer of two has ended first, and nobody has begun another: %d", found);
    end_asking(request);
}

/* Rank 2 still waits for a reduction that has ended on the others, and answers; rank 1 does not. */
static void check_answers(void)
{
    int64_t words[1] = {0};
    MPI_Request asked;
    void *before, *request = NULL;
    int found = 2, all_asked = 0;
    open_table();
    must(table.start(table.context, 0, words, 1, &before), "start");
    mpi_job_meet();
    if (mpi_job_rank() != 2)
        finish(before);
    mpi_job_meet();
    if (mpi_job_rank() != 2)
        found = ask(2, &request);
    MPI_Ibarrier(MPI_COMM_WORLD, &asked);
    late_tests = INT_MAX;
    for (int ended; !all_asked; PMPI_Test(&asked, &all_asked, MPI_STATUS_IGNORE))
        if (mpi_job_rank() == 2)
            must(table.test(table.context, before, &ended), "test");
    late_tests = 0;
    if (mpi_job_rank() == 2)
        finish(before);
    tap_ok(found == 2, "rank 1 is missing, and rank 2 waits: expected 2, got %d", found);
    end_asking(request);
}

/* Rank 1 answers when rank 0 ends the transport: the next one does not receive that. */
static void check_late_answer(void)
{
    int64_t words[1] = {0};
    void *request = NULL;
    int ranks[3];
    open_table();
    must(table.start(table.context, 0, words, 1, &request), "start");
    if (mpi_job_rank() == 0)
        table.missing(table.context, request, ranks);
    mpi_job_meet();
    if (mpi_job_rank() == 1)
        pause_for(0.1);
    finish(request);
    end_transport();
    mpi_job_meet();
    open_table();
    const int found = ask(6, &request);
    tap_ok(found == 6, "nobody has been heard of by a new transport: %d", found);
    end_asking(request);
}

/* Ranks 0 and 1 end when rank 2 reduces once more: what the others then need has stayed. */
static void check_kept(void)
{
    int64_t words[1] = {1};
    void *request;
    MPI_Request joined;
    open_table();
    must(table.start(table.context, 0, words, 1, &request), "start");
    finish(request);
    const MPI_Comm of_words = reduced;
    clock_speed = 1e6;
    if (mpi_job_rank() == 2) {
        must(table.start(table.context, 0, words, 1, &request), "start");
        mpi_job_meet();
        finish(request);
    }
    must(sbn_mpi_destroy(mpi), "sbn_mpi_destroy");
    clock_speed = 1;
    if (mpi_job_rank() != 2) {
        mpi_job_meet();
        PMPI_Iallreduce(MPI_IN_PLACE, words, 1, MPI_INT64_T, MPI_SUM, of_words, &joined);
        mpi_job_wait(&joined);
    }
    tap_ok(words[0] == 9, "a reduction that the others join behind the end: %d", (int)words[0]);
}

static void *end_part(void *part)
{
    const sbn_transport *its = part;
    its->end(its->context);
    return NULL;
}

/* What cannot be tested in the end is not waited for; its memory stays. */
static void check_left_behind(void)
{
    static int64_t words[2] = {1, 1};
    void *request = NULL;
    open_table();
    must(table.start(table.context, SBN_TAG_WORDS, words, 1, &request), "start");
    failed_tests = 1;
    expect(sbn_mpi_destroy(mpi), SBN_TIMEOUT, "1 reduction that|is pending|MPI_Abort",
           "MPI cannot test what is pending");
    tap_ok(failed_tests == 0 && words[0] == mpi_job_size(), "it was tested once, and has ended");
    const int self = mpi_job_rank();
    sbn_transport parts[2] = {SBN_TRANSPORT_INIT, SBN_TRANSPORT_INIT};
    open_table();
    for (int i = 0; i < 2; ++i)
        must(table.split(table.context, &self, 1, i, &parts[i]), "split");
    must(parts[0].start(parts[0].context, SBN_TAG_WORDS, &words[1], 1, &request), "start");
    must(table.start(table.context, SBN_TAG_WORDS, words, 1, &request), "start");
    for (int i = 0; i < 2; ++i) {
        failed_tests = !i;
        parts[i].end(parts[i].context);
    }
    failed_tests = 1;
    expect(sbn_mpi_destroy(mpi), SBN_TIMEOUT, "2 reductions that|are pending",
           "one of all ranks, and one of the first of two parts");
    pthread_t thread;
    open_table();
    must(table.split(table.context, &self, 1, 0, &parts[0]), "split");
    must(parts[0].start(parts[0].context, SBN_TAG_WORDS, &words[1], 1, &request), "start");
    must(pthread_create(&thread, NULL, end_part, &parts[0]), "pthread_create");
    pthread_join(thread, NULL);
    expect(sbn_mpi_destroy(mpi), SBN_TIMEOUT, "1 reduction that|is pending",
           "one of a part that another thread has ended");
}

int main(int argc, char **argv)
{
    static test_rank early, late;
    create(&early);
    tap_mpi_begin(&argc, &argv);
    if (fixture_open(&device))
        return mpi_job_end(fixture_missing());
    rank_expect(&early, SBN_INVALID_ARGUMENT, "MPI_Init_thread|before", "before MPI_Init");
    check_refused();
    check_threads();
    check_table();
    check_tags();
    check_left_alone();
    check_missing(0, 5);
    check_missing(5, 7);
    check_newer_first();
    check_answers();
    check_late_answer();
    if (strcmp(tool(), "valgrind") == 0) {
        tap_skip("what MPI may still use stays allocated");
    } else {
        expect_leaks();
        check_kept();
        check_left_behind();
    }
    fixture_close(&device);
    const int result = mpi_job_end(tap_done());
    /* Too late for a check: the ranks can no longer agree on one. */
    if (create(&late) == SBN_INVALID_ARGUMENT && holds_words(late.sentence, "MPI_Finalize|already"))
        return result;
    fprintf(stderr, "after MPI_Finalize: %s %s\n", sbn_strerror(late.status), late.sentence);
    return 1;
}
