#include "collective/request.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "collective/ranks.h"

int sbn__request_reserve(sbn_request *request, size_t count, const char *what)
{
    if (request->block && request->capacity >= count)
        return SBN_SUCCESS;
    sbn_request_block *block = sbn__allocate(sizeof *block + sizeof(int64_t) * count);
    if (!block)
        return sbn__fail_memory(what);
    sbn__free(request->block);
    *request = (sbn_request){block, block->words, count, 0};
    return SBN_SUCCESS;
}

void sbn__request_free(sbn_request *request)
{
    sbn__free(request->block);
    *request = (sbn_request){0};
}

int sbn__request_start(sbn_communicator *c, sbn_request *request, int tag, size_t count)
{
    const sbn_transport *transport = &c->transport;
    if (!sbn__communicator_is_joined(c))
        return SBN_SUCCESS;
    sbn__error_clear();
    const int code = transport->start(transport->context, tag, request->words, count,
                                      &request->block->handle);
    if (code)
        return sbn__communicator_die_of_transport(c, code, "start");
    request->in_flight = 1;
    return SBN_SUCCESS;
}

int sbn__request_poll(sbn_communicator *c, sbn_request *request, int *done)
{
    *done = !request->in_flight;
    if (*done)
        return SBN_SUCCESS;
    sbn__error_clear();
    const int code = c->transport.test(c->transport.context, request->block->handle, done);
    if (code) {
        *done = 0;
        return sbn__communicator_die_of_transport(c, code, "test");
    }
    request->in_flight = !*done;
    c->completed += (uint64_t)*done;
    return SBN_SUCCESS;
}

void sbn__request_abandon(sbn_communicator *c, sbn_request *request)
{
    if (!request->in_flight)
        return;
    request->block->next = c->abandoned;
    c->abandoned = request->block;
    *request = (sbn_request){0};
}

/* "ranks 1, 3": those that have not started it, as far as the transport knows. */
static void name_missing(const sbn_communicator *c, const sbn_request *late, char *out, size_t size)
{
    const sbn_transport *transport = &c->transport;
    int *ranks = sbn__allocate(sizeof *ranks * (size_t)transport->world_size);
    int count = late && !late->in_flight ? 0 : -1;
    if (ranks && late && late->in_flight && transport->missing)
        count = transport->missing(transport->context, late->block->handle, ranks);
    if (count > 0)
        sbn__communicator_name_ranks(c, ranks, count, out, size);
    else
        snprintf(out, size, count ? "the other ranks" : "a sum that all ranks have begun");
    sbn__free(ranks);
}

sbn_deadline sbn__deadline_start(const sbn_communicator *c)
{
    const double now = sbn__seconds();
    return (sbn_deadline){now, now, c->completed, 0};
}

/* Some transports must ask the other ranks who is missing: so long before the timeout, or after an abort. */
static double time_to_ask(const sbn_communicator *c)
{
    return c->timeout < 2.0 ? c->timeout / 2 : 1.0;
}

/* Leaves the processor to others; by sleeping, once that lengthens the wait by a hundredth at the most. */
static void pause_polling(double waited)
{
    const struct timespec pause = {0, 100000};
    if (waited < 0.01)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

int sbn__deadline_passed(const sbn_communicator *c, sbn_deadline *deadline, const sbn_request *late)
{
    const double now = sbn__seconds(), gap = now - deadline->seen;
    /* A process that was stopped, as those of a suspended job are, has not waited meanwhile. */
    if (gap > 1.0)
        deadline->since += gap - 1.0;
    deadline->seen = now;
    const double waited = now - deadline->since;
    if (sbn__communicator_is_aborted(c)) {
        return 1;
    } else if (c->completed != deadline->completed) {
        *deadline = sbn__deadline_start(c);
    } else if (waited > c->timeout) {
        return 1;
    } else if (!deadline->asked && waited > c->timeout - time_to_ask(c)) {
        char names[SBN_RANKS_SIZE];
        name_missing(c, late, names, sizeof names);
        deadline->asked = 1;
    }
    pause_polling(waited);
    return 0;
}

/* Tests the request, in which answers to what name_missing has asked are heard. */
static int hear_answers(sbn_communicator *c, sbn_request *late)
{
    const double since = sbn__seconds();
    int status = SBN_SUCCESS, done = !late || !late->in_flight || !c->transport.missing;
    for (double waited = 0; !status && !done && waited < time_to_ask(c);) {
        pause_polling(waited);
        status = sbn__request_poll(c, late, &done);
        waited = sbn__seconds() - since;
    }
    return status;
}

int sbn__communicator_time_out(sbn_communicator *c, sbn_request *late, const char *what)
{
    char missing[SBN_RANKS_SIZE];
    const int aborted = sbn__communicator_is_aborted(c);
    const int rank = sbn__communicator_name(c, c->transport.rank);
    name_missing(c, late, missing, sizeof missing);
    if (!aborted) {
        sbn__fail(SBN_TIMEOUT, "rank %d waited %g s in %s for %s", rank, c->timeout, what, missing);
        return sbn__communicator_part(c, SBN_TIMEOUT);
    }
    const int status = hear_answers(c, late);
    if (status)
        return status;
    name_missing(c, late, missing, sizeof missing);
    sbn__fail(SBN_ABORTED, "rank %d: sbn_group_abort was called while it waited in %s for %s", rank,
              what, missing);
    return sbn__communicator_die(c, SBN_ABORTED);
}

int sbn__request_wait(sbn_communicator *c, sbn_request *request, const char *what)
{
    sbn_deadline deadline = sbn__deadline_start(c);
    int done = 0, status = SBN_SUCCESS;
    while (!done && !status) {
        status = sbn__request_poll(c, request, &done);
        if (!status && !done && sbn__deadline_passed(c, &deadline, request))
            status = sbn__communicator_time_out(c, request, what);
    }
    if (status)
        sbn__request_abandon(c, request);
    return status;
}
