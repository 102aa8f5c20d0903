#include "combine.h"

#include <stdio.h>
#include <string.h>

#include "handles.h"
#include "reduce.h"

/* Settles a pass; a failure keeps the last sentence. */
static void settle(sbn_pass *pass, int status)
{
    pass->stage = SBN_STAGE_SETTLED;
    pass->status = status;
    snprintf(pass->sentence, sizeof pass->sentence, "%s", status ? sbn_last_error() : "");
}

/* A request in flight may still write its words: they stay allocated, but no longer ours. */
static void abandon(sbn_pass *pass)
{
    pass->header = pass->sums = pass->explanation = NULL;
    pass->sums_size = pass->explanation_size = 0;
    pass->request = NULL;
}

void sbn_group_fail_transport(sbn_group *group, int code, const char *what)
{
    const char *reason = sbn_last_error();
    sbn_fail(SBN_TRANSPORT_ERROR, "rank %d: the transport's %s returned %d%s%s",
             group->transport.rank, what, code, *reason ? ": " : "", reason);
    sbn_group_fail(group, SBN_TRANSPORT_ERROR);
    group->unreachable = 1;
}

/* The transport broke: nothing of this group can be trusted to meet again. */
static void fail_transport(sbn_group *group, int code, const char *what)
{
    sbn_group_fail_transport(group, code, what);
    for (size_t i = 0; i < group->under_way_count; ++i) {
        sbn_pass *pass = group->under_way[i];
        if (pass->stage == SBN_STAGE_SETTLED || pass->kind->local)
            continue;
        if (pass->request)
            abandon(pass);
        settle(pass, SBN_TRANSPORT_ERROR);
    }
}

static void start(sbn_pass *pass, int stream, int64_t *words, size_t count, sbn_stage stage)
{
    const sbn_transport *transport = &pass->group->transport;
    sbn_error_clear();
    const int code = transport->start(transport->context, stream, words, count, &pass->request);
    if (!code) {
        pass->stage = stage;
        return;
    }
    pass->request = NULL;
    fail_transport(pass->group, code, "start");
}

static int arrived(sbn_pass *pass)
{
    const sbn_transport *transport = &pass->group->transport;
    int done = 0;
    sbn_error_clear();
    const int code = transport->test(transport->context, pass->request, &done);
    if (code)
        fail_transport(pass->group, code, "test");
    return !code && done;
}

/* The count of the group is known: 1 if there is something to combine. */
static int accept_count(sbn_pass *pass, uint64_t count)
{
    pass->count = count;
    if (count == 0) {
        pass->kind->commit(pass);
        settle(pass, SBN_SUCCESS);
        return 0;
    }
    if (count < pass->kind->least_count) {
        settle(pass, sbn_fail(SBN_TOO_FEW_VALUES,
                              "%s of layer \"%s\": more than 1 value per channel was expected over "
                              "the whole group in training, %llu came",
                              pass->kind->operation, pass->layer->name, (unsigned long long)count));
        return 0;
    }
    if (!pass->kind->reduce) {
        pass->kind->commit(pass);
        settle(pass, SBN_SUCCESS);
        return 0;
    }
    return 1;
}

void sbn_combine_start(sbn_pass *pass)
{
    if (!sbn_pass_is_joined(pass)) {
        if (accept_count(pass, pass->call.count))
            pass->stage = SBN_STAGE_LOCAL;
        return;
    }
    sbn_header_fill(pass->header, &pass->call);
    start(pass, SBN_STREAM_HEADER, pass->header, SBN_HEADER_WORDS, SBN_STAGE_HEADER);
}

static void start_explanation(sbn_pass *pass)
{
    const int world_size = pass->group->transport.world_size;
    const size_t words = sbn_explanation_words(world_size);
    if (sbn_grow((void **)&pass->explanation, &pass->explanation_size, sizeof(int64_t) * words)) {
        fail_transport(pass->group, SBN_OUT_OF_MEMORY, "memory");
        return;
    }
    memset(pass->explanation, 0, sizeof(int64_t) * words);
    if (!pass->call.error)
        pass->call.error = pass->local_error;
    sbn_explanation_fill(pass->explanation, pass->group->transport.rank, &pass->call);
    start(pass, SBN_STREAM_REPEAT, pass->explanation, words, SBN_STAGE_EXPLAIN);
}

static void leave_header(sbn_pass *pass, int oldest)
{
    if (pass->request) {
        if (!arrived(pass))
            return;
        pass->request = NULL;
    }
    if (sbn_header_agrees(pass->header, pass->group->transport.world_size)) {
        if (accept_count(pass, sbn_header_count(pass->header)))
            pass->stage = SBN_STAGE_LOCAL;
    } else if (oldest) {
        start_explanation(pass);
    }
}

/* A failure of this member's device after the header: the others learn the status, and this
 * member keeps its sentence. */
static void keep_error(sbn_pass *pass, int status)
{
    pass->local_error = status;
    if (status)
        snprintf(pass->sentence, sizeof pass->sentence, "%s", sbn_last_error());
}

/* The group's words are known. */
static void take(sbn_pass *pass, const sbn_words *words)
{
    if (!pass->kind->take(pass, words)) {
        pass->kind->commit(pass);
        settle(pass, SBN_SUCCESS);
        return;
    }
    pass->result.wide = 1;
    pass->window = SBN_WIDE;
    pass->stage = SBN_STAGE_LOCAL;
    keep_error(pass, sbn_reduce_enqueue(pass, SBN_WIDE));
}

static void leave_local(sbn_pass *pass, int oldest, int may_send)
{
    const int joined = sbn_pass_is_joined(pass);
    int done = 1;
    if (!pass->local_error)
        keep_error(pass, sbn_reduce_done(pass, &done));
    if (!pass->local_error && !done)
        return;
    if (!joined && pass->local_error) {
        settle(pass, sbn_fail(pass->local_error, "%s", pass->sentence));
        return;
    }
    if (joined ? !may_send || (pass->window == SBN_WIDE && !oldest) : !oldest && !pass->kind->local)
        return;
    const sbn_window *window = pass->kind->window(pass->window);
    const size_t channels = pass->layer->channels;
    if (!sbn_reduce_must_add(pass)) {
        const sbn_words own = sbn_reduce_words(pass, 0);
        take(pass, &own);
        return;
    }
    const size_t words = 1 + sbn_window_words(window) * channels;
    if (!pass->local_error) {
        sbn_reduce_add(pass);
    } else if (pass->sums) {
        memset(pass->sums, 0, sizeof(int64_t) * words);
    } else {
        /* Not even room to tell the others. */
        fail_transport(pass->group, pass->local_error, "memory");
        return;
    }
    if (!joined) {
        const sbn_words all = sbn_words_at(pass->sums + 1, window);
        take(pass, &all);
        return;
    }
    sbn_words_seal(pass->sums + 1, window, channels);
    pass->sums[0] = pass->local_error != 0;
    start(pass, pass->window == SBN_WIDE ? SBN_STREAM_REPEAT : SBN_STREAM_WORDS, pass->sums, words,
          SBN_STAGE_SENT);
}

static void leave_sent(sbn_pass *pass, int oldest)
{
    if (pass->request) {
        if (!arrived(pass))
            return;
        pass->request = NULL;
    }
    if (!oldest)
        return;
    if (pass->sums[0] != 0) {
        start_explanation(pass);
        return;
    }
    const sbn_window *window = pass->kind->window(pass->window);
    const sbn_words all = sbn_words_at(pass->sums + 1, window);
    sbn_words_open(pass->sums + 1, window, pass->layer->channels);
    take(pass, &all);
}

static void leave_explanation(sbn_pass *pass)
{
    if (!arrived(pass))
        return;
    pass->request = NULL;
    const sbn_group *group = pass->group;
    char sentence[SBN_SENTENCE_SIZE];
    const int status = sbn_explanation_read(pass->explanation, group->transport.rank,
                                            group->transport.world_size, sentence, sizeof sentence);
    if (pass->local_error)
        settle(pass, sbn_fail(pass->local_error, "%s", pass->sentence));
    else
        settle(pass, sbn_fail(status, "%s", sentence));
}

void sbn_combine_progress(sbn_group *group)
{
    int oldest = 1, may_send = 1;
    for (size_t i = 0; i < group->under_way_count; ++i) {
        sbn_pass *pass = group->under_way[i];
        sbn_stage before;
        do {
            before = pass->stage;
            switch (before) {
            case SBN_STAGE_HEADER: leave_header(pass, oldest); break;
            case SBN_STAGE_LOCAL: leave_local(pass, oldest, may_send); break;
            case SBN_STAGE_SENT: leave_sent(pass, oldest); break;
            case SBN_STAGE_EXPLAIN: leave_explanation(pass); break;
            case SBN_STAGE_SETTLED: break;
            }
        } while (pass->stage != before);
        const int sent = pass->stage == SBN_STAGE_SENT || pass->window == SBN_WIDE;
        oldest = oldest && pass->stage == SBN_STAGE_SETTLED;
        may_send = may_send && (sent || pass->stage >= SBN_STAGE_EXPLAIN);
    }
}

void sbn_name_missing(const sbn_transport *transport, void *request, char *out, size_t size)
{
    int *ranks = transport->missing && request
                     ? sbn_allocate(sizeof(int) * (size_t)transport->world_size)
                     : NULL;
    const int count = ranks ? transport->missing(transport->context, request, ranks) : -1;
    if (count <= 0)
        snprintf(out, size, count ? "the other ranks" : "a sum that all ranks have begun");
    enum { MORE = 24 }; /* room for the last words */
    size_t used = 0;
    for (int i = 0; i < count; ++i) {
        const int full = used + MORE > size;
        const int length = full ? snprintf(out + used, size - used, " and %d more", count - i)
                                : snprintf(out + used, size - used, i ? ", %d" : "rank %d",
                                           ranks[i]);
        used += length > 0 ? (size_t)length : 0;
        if (full)
            break;
    }
    sbn_free(ranks);
}

/* Begins the pass again with this member's values alone. Its words in flight are abandoned. */
static void restart_alone(sbn_pass *pass)
{
    abandon(pass);
    pass->window = SBN_NARROW;
    pass->result.wide = 0;
    pass->result.synchronised = 0;
    sbn_reduce_wait(pass);
    memset(pass->repeat, 0, pass->layer->channels);
    if (!accept_count(pass, pass->call.count))
        return;
    pass->stage = SBN_STAGE_LOCAL;
    keep_error(pass, sbn_reduce_enqueue(pass, SBN_NARROW));
}

void sbn_combine_timeout(sbn_group *group)
{
    size_t first = 0;
    while (group->under_way[first]->stage == SBN_STAGE_SETTLED)
        ++first;
    char missing[128];
    const sbn_pass *late = group->under_way[first];
    sbn_name_missing(&group->transport, late->request, missing, sizeof missing);
    const int local = group->on_timeout == SBN_TIMEOUT_LOCAL;
    group->alone = local;
    sbn_fail(SBN_TIMEOUT, "rank %d waited %g s in %s of layer \"%s\" for %s", group->transport.rank,
             group->timeout, late->call.operation, late->call.name, missing);
    if (!local) {
        sbn_group_fail(group, SBN_TIMEOUT);
        group->unreachable = 1;
    }
    for (size_t i = first; i < group->under_way_count; ++i) {
        sbn_pass *pass = group->under_way[i];
        if (pass->stage == SBN_STAGE_SETTLED || pass->kind->local)
            continue;
        if (local && !pass->call.error) {
            restart_alone(pass);
        } else {
            abandon(pass);
            /* A pass that only told of an error of this member has that error. */
            settle(pass, pass->call.error ? pass->call.error : SBN_TIMEOUT);
        }
    }
}
