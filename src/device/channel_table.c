#include "device/channel_table.h"

#include "base/error.h"
#include "base/memory.h"

int sbn__channel_table_create(sbn_channel_table *table, sbn_replica *replicas, size_t count,
                              size_t rows, size_t channels, int shared)
{
    const size_t bytes = sizeof(float) * rows * channels;
    *table = (sbn_channel_table){.replicas = count,
                                 .rows = rows,
                                 .channels = channels,
                                 .shared = shared};
    table->host = sbn__allocate(sizeof *table->host * count);
    table->copies = sbn__allocate(sizeof *table->copies * count);
    if (!table->host || !table->copies)
        return sbn__fail_memory("a table of channels");
    for (size_t r = 0; r < count; ++r) {
        int status = sbn__reserve(&replicas[r], &table->copies[r].buffer, bytes);
        if (!status && (r == 0 || !shared))
            status = sbn__staging_reserve(&replicas[r], &table->host[r], bytes);
        if (status != SBN_SUCCESS)
            return status;
    }
    return SBN_SUCCESS;
}

void sbn__channel_table_leave(sbn_channel_table *table, size_t replica)
{
    cl_event *const of[] = {&table->copies[replica].written, &table->copies[replica].last};
    for (size_t i = 0; i < sizeof of / sizeof *of; ++i) {
        if (*of[i])
            clWaitForEvents(1, of[i]);
        sbn__release_event(of[i]);
    }
}

void sbn__channel_table_destroy(sbn_channel_table *table)
{
    for (size_t r = 0; table->copies && r < table->replicas; ++r) {
        sbn__channel_table_leave(table, r);
        sbn__release_buffer(&table->copies[r].buffer);
    }
    /* After the loop, because all devices copy from a shared one. */
    for (size_t r = 0; table->host && r < table->replicas; ++r)
        sbn__staging_release(&table->host[r]);
    sbn__free(table->host);
    sbn__free(table->copies);
    *table = (sbn_channel_table){0};
}

float *sbn__channel_table_rows(const sbn_channel_table *table, size_t replica)
{
    return table->host[table->shared ? 0 : replica].at;
}

int sbn__channel_table_await(sbn_channel_table *table)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < table->replicas; ++r) {
        cl_event *written = &table->copies[r].written;
        if (!*written)
            continue;
        const cl_int code = clWaitForEvents(1, written);
        sbn__release_event(written);
        if (code != CL_SUCCESS && !status)
            status = sbn__fail(code, "replica %zu: waiting for a table: %s", r, sbn_strerror(code));
    }
    return status;
}

/*
 * For a last command that has failed it adds all before it. A queue in order needs no list, and is not
 * asked: a driver may have to do something to answer.
 */
int sbn__channel_table_wait_to_write(sbn_channel_table *table, const sbn_replica *replica,
                                     sbn_wait *wait)
{
    cl_event *last = &table->copies[replica->index].last;
    cl_int state = CL_COMPLETE;
    if (replica->in_order)
        return SBN_SUCCESS;
    const int status = *last ? sbn__event_state(replica, *last, &state) : SBN_SUCCESS;
    if (status)
        return status;
    if (state >= 0) {
        sbn__wait_add(wait, *last);
        return SBN_SUCCESS;
    }
    /* It may have failed before those that it waited for are over. */
    sbn__release_event(last);
    const int marked = sbn__marker(replica, 0, NULL, last);
    sbn__wait_add(wait, *last);
    return marked;
}

int sbn__channel_table_wait(sbn_channel_table *table, const sbn_replica *replica, sbn_wait *wait)
{
    const cl_event written = replica->in_order ? NULL : table->copies[replica->index].written;
    cl_int state = CL_COMPLETE;
    int status = sbn__channel_table_wait_to_write(table, replica, wait);
    /* Asked behind it: a write that fails later is in the list. */
    if (!status && written)
        status = sbn__event_state(replica, written, &state);
    return status
               ? status
               : sbn__check_cl(replica, "writing a table failed", state < 0 ? state : CL_SUCCESS);
}

int sbn__channel_table_wrote(sbn_channel_table *table, const sbn_replica *replica, cl_event event)
{
    const int status = sbn__keep_event(replica, &table->copies[replica->index].written, event);
    return status ? status : sbn__channel_table_touched(table, replica, event);
}

int sbn__channel_table_write(sbn_channel_table *table, sbn_replica *replica)
{
    const size_t r = replica->index;
    sbn_wait wait = {{NULL}, 0};
    cl_event event;
    int status = sbn__channel_table_wait_to_write(table, replica, &wait);
    if (!status)
        status = sbn__write(replica, table->copies[r].buffer.mem,
                            sizeof(float) * table->rows * table->channels,
                            sbn__channel_table_rows(table, r), &wait, &event);
    if (status != SBN_SUCCESS)
        return status;
    status = sbn__channel_table_wrote(table, replica, event);
    sbn__release_event(&event);
    return status;
}

int sbn__channel_table_touched(sbn_channel_table *table, const sbn_replica *replica, cl_event event)
{
    return sbn__keep_event(replica, &table->copies[replica->index].last, event);
}
