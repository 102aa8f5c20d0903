#include "collective/communicator.h"

#include <stdio.h>

#include "base/memory.h"
#include "collective/ranks.h"

void sbn__communicator_open(sbn_communicator *c, const sbn_transport *transport, double timeout,
                            sbn_timeout_action on_timeout)
{
    *c = (sbn_communicator){.timeout = timeout, .on_timeout = on_timeout};
    c->transport.world_size = 1;
    if (transport)
        c->transport = *transport;
    c->transport.end = NULL; /* the caller's */
}

void sbn__communicator_close(sbn_communicator *c)
{
    char sentence[SBN_SENTENCE_SIZE];
    snprintf(sentence, sizeof sentence, "%s", sbn_last_error());
    sbn__communicator_sweep(c);
    if (c->transport.end)
        c->transport.end(c->transport.context);
    sbn_set_last_error(SBN_SUCCESS, sentence);
    sbn__free(c->names);
}

int sbn__communicator_is_joined(const sbn_communicator *c)
{
    return c->transport.start && c->transport.world_size > 1 && !c->alone;
}

int sbn__communicator_name(const sbn_communicator *c, int rank)
{
    return c->names ? c->names[rank] : rank;
}

void sbn__communicator_name_ranks(const sbn_communicator *c, int *ranks, int count, char *out,
                                  size_t size)
{
    for (int i = 0; i < count; ++i)
        ranks[i] = sbn__communicator_name(c, ranks[i]);
    sbn__ranks_print(ranks, count, out, size);
}

void sbn__communicator_sweep(sbn_communicator *c)
{
    sbn_request_block **at = &c->abandoned;
    while (*at && !c->broken) {
        sbn_request_block *block = *at;
        int done;
        c->broken = c->transport.test(c->transport.context, block->handle, &done) != 0;
        if (c->broken || !done) {
            at = &block->next;
        } else {
            *at = block->next;
            sbn__free(block);
        }
    }
}

int sbn__communicator_fail(sbn_communicator *c, int status)
{
    if (!c->status) {
        c->status = status;
        snprintf(c->reason, sizeof c->reason, "%s", sbn_last_error());
    }
    return status;
}

int sbn__communicator_die(sbn_communicator *c, int status)
{
    c->dead = 1;
    return sbn__communicator_fail(c, status);
}

int sbn__communicator_part(sbn_communicator *c, int status)
{
    c->alone = c->on_timeout == SBN_TIMEOUT_LOCAL;
    if (!c->alone)
        return sbn__communicator_die(c, status);
    if (!c->status)
        snprintf(c->reason, sizeof c->reason, "%s", sbn_last_error());
    return status;
}

int sbn__communicator_die_of_memory(sbn_communicator *c, const char *what)
{
    return sbn__communicator_die(
        c, sbn__fail(SBN_OUT_OF_MEMORY,
                     "rank %d: the host has no memory left for %s, nor to tell the other ranks so",
                     sbn__communicator_name(c, c->transport.rank), what));
}

int sbn__communicator_die_of_transport(sbn_communicator *c, int code, const char *function)
{
    const char *reason = sbn_last_error();
    const int status = code == SBN_OUT_OF_MEMORY ? code : SBN_TRANSPORT_ERROR;
    sbn__fail(status, "rank %d: the transport's %s returned %d%s%s",
              sbn__communicator_name(c, c->transport.rank), function, code, *reason ? ": " : "",
              reason);
    c->broken = 1;
    return sbn__communicator_die(c, status);
}

int sbn__communicator_is_aborted(const sbn_communicator *c)
{
    return c->abort_flag && atomic_load_explicit(c->abort_flag, memory_order_acquire);
}

int sbn__communicator_check(sbn_communicator *c, const char *what)
{
    if (!c->status && sbn__communicator_is_aborted(c))
        sbn__communicator_die(c, sbn__fail(SBN_ABORTED, "sbn_group_abort was called"));
    if (!c->status)
        return SBN_SUCCESS;
    return sbn__fail(SBN_GROUP_FAILED, "rank %d: %s failed earlier: %s",
                     sbn__communicator_name(c, c->transport.rank), what, c->reason);
}
