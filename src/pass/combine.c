#include "pass/combine.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "collective/mismatch.h"
#include "base/memory.h"
#include "pass/reduce.h"

/* Settles a pass; a failure keeps the last sentence. An error of this rank's own outranks all. */
static void settle(sbn_pass *pass, int status)
{
    pass->stage = SBN_STAGE_SETTLED;
    pass->status = pass->error ? pass->error : status;
    if (!pass->error)
        snprintf(pass->sentence, sizeof pass->sentence, "%s", status ? sbn_last_error() : "");
}

/* A request in flight may still write its words: they stay allocated, but no longer ours. */
static void abandon(sbn_pass *pass)
{
    pass->header = pass->sums = pass->mismatch = NULL;
    pass->sums_size = pass->explanation_size = 0;
    pass->request = NULL;
}

void sbn__group_fail_transport(sbn_group *group, int code, const char *what)
{
    const char *reason = sbn_last_error();
    sbn__fail(SBN_TRANSPORT_ERROR, "rank %d: the transport's %s returned %d%s%s",
              group->transport.rank, what, code, *reason ? ": " : "", reason);
    sbn__group_fail(group, SBN_TRANSPORT_ERROR);
    group->unreachable = 1;
}

/* The transport broke: nothing of this group can be trusted to meet again. */
static void fail_transport(sbn_group *group, int code, const char *what)
{
    sbn__group_fail_transport(group, code, what);
    for (size_t i = 0; i < group->under_way_count; ++i) {
        sbn_pass *pass = group->under_way[i];
        if (pass->stage == SBN_STAGE_SETTLED || sbn__pass_is_local(pass))
            continue;
        if (pass->request)
            abandon(pass);
        settle(pass, SBN_TRANSPORT_ERROR);
    }
}

static void start(sbn_pass *pass, int stream, int64_t *words, size_t count, sbn_stage stage)
{
    const sbn_transport *transport = &pass->group->transport;
    sbn__error_clear();
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
    sbn__error_clear();
    const int code = transport->test(transport->context, pass->request, &done);
    if (code)
        fail_transport(pass->group, code, "test");
    return !code && done;
}

/* The counts are known: 1 if they will do. Where there are no values there is nothing to combine. */
static int accept_counts(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (layer_pass->count > 0 && layer_pass->count < layer_pass->kind->least_count) {
            settle(pass, sbn__fail(SBN_TOO_FEW_VALUES,
                                   "%s of layer \"%s\": more than 1 value per channel was expected "
                                   "over the whole group in training, %llu came",
                                   layer_pass->kind->operation, layer_pass->layer->name,
                                   (unsigned long long)layer_pass->count));
            return 0;
        }
        layer_pass->pending = layer_pass->pending && layer_pass->count > 0;
    }
    return 1;
}

/* All is known of all layer_passes. */
static void conclude(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass; layer_pass = layer_pass->next)
        if (layer_pass->kind->commit)
            layer_pass->kind->commit(layer_pass);
    settle(pass, SBN_SUCCESS);
}

static int has_pending(const sbn_pass *pass)
{
    int pending = 0;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next)
        pending = pending || layer_pass->pending;
    return pending;
}

/* A pass of this rank alone has its counts. */
static void start_alone(sbn_pass *pass)
{
    if (!accept_counts(pass))
        return;
    if (has_pending(pass))
        pass->stage = SBN_STAGE_LOCAL;
    else
        conclude(pass);
}

void sbn__combine_start(sbn_pass *pass)
{
    if (!sbn__pass_is_joined(pass)) {
        start_alone(pass);
        return;
    }
    uint64_t digest = SBN_DIGEST_START;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next)
        if (sbn__layer_pass_is_joined(layer_pass))
            digest = sbn__call_digest(digest, &layer_pass->call);
    sbn__header_fill(pass->header, pass->error, pass->layer_passes->call.number,
                     (uint32_t)pass->sent, digest);
    start(pass, SBN_TAG_HEADER, pass->header, SBN_HEADER_WORDS, SBN_STAGE_HEADER);
}

/* What this rank says of itself: the layer pass with the error, or the layer in the place looked at. */
static sbn_call own_call(const sbn_pass *pass)
{
    const sbn_layer_pass *of = pass->culprit, *first = NULL;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (!sbn__layer_pass_is_joined(layer_pass))
            continue;
        first = first ? first : layer_pass;
        if (!of && layer_pass->place == pass->place)
            of = layer_pass;
    }
    sbn_call call = of ? of->call : first->call;
    if (!of) {
        call.name = "";
        call.settings = NULL;
        call.flags = call.channels = call.saved = call.saved_place = 0;
    }
    call.error = pass->error;
    return call;
}

static void start_explanation(sbn_pass *pass)
{
    const int world_size = pass->group->transport.world_size;
    const size_t words = sbn__mismatch_words(world_size);
    const sbn_call call = own_call(pass);
    if (sbn__grow((void **)&pass->mismatch, &pass->explanation_size, sizeof(int64_t) * words)) {
        fail_transport(pass->group, SBN_OUT_OF_MEMORY, "memory");
        return;
    }
    memset(pass->mismatch, 0, sizeof(int64_t) * words);
    sbn__mismatch_fill(pass->mismatch, pass->group->transport.rank, &call);
    start(pass, SBN_TAG_REPEAT, pass->mismatch, words, SBN_STAGE_MISMATCH);
}

static void leave_header(sbn_pass *pass, int oldest)
{
    if (pass->request) {
        if (!arrived(pass))
            return;
        pass->request = NULL;
    }
    if (sbn__header_agrees(pass->header, pass->group->transport.world_size))
        pass->stage = SBN_STAGE_LOCAL;
    else if (oldest)
        start_explanation(pass);
}

/* The words are known. Parts that did not fit are combined once more. */
static void take(sbn_pass *pass)
{
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        if (!layer_pass->pending)
            continue;
        const sbn_accumulators words = sbn__reduce_sum(pass, layer_pass);
        layer_pass->pending = layer_pass->kind->take(layer_pass, &layer_pass->chunks[0], &words);
        layer_pass->result.wide |= layer_pass->pending;
    }
    if (!has_pending(pass)) {
        conclude(pass);
        return;
    }
    pass->format = SBN_WIDE;
    pass->stage = SBN_STAGE_LOCAL;
    sbn__reduce_enqueue(pass);
}

static void send(sbn_pass *pass)
{
    if (!pass->error) {
        sbn__reduce_seal(pass);
    } else if (pass->sums) {
        memset(pass->sums, 0, sizeof(int64_t) * pass->sent);
    } else {
        /* Not even room to tell the others. */
        fail_transport(pass->group, pass->error, "memory");
        return;
    }
    pass->sums[0] = pass->error != 0;
    start(pass, pass->format == SBN_WIDE ? SBN_TAG_REPEAT : SBN_TAG_WORDS, pass->sums, pass->sent,
          SBN_STAGE_SENT);
}

/* Nobody waits for this rank's words. Other ranks of a joined pass have gone on already. */
static void fail_alone(sbn_pass *pass)
{
    sbn__fail(pass->error, "%s", pass->sentence);
    if (sbn__pass_is_joined(pass))
        sbn__group_fail(pass->group, pass->error);
    settle(pass, pass->error);
}

static void leave_local(sbn_pass *pass, int oldest, int may_send)
{
    const int sends = pass->sent > 1;
    if (!pass->error && !sbn__reduce_done(pass))
        return;
    if (!sends && pass->error) {
        fail_alone(pass);
        return;
    }
    if (sends ? !may_send || (pass->format == SBN_WIDE && !oldest)
              : !oldest && !sbn__pass_is_local(pass))
        return;
    if (!pass->error)
        sbn__reduce_add(pass);
    if (sends)
        send(pass);
    else
        take(pass);
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
    sbn__reduce_open(pass);
    if (accept_counts(pass))
        take(pass);
}

static void leave_explanation(sbn_pass *pass)
{
    if (!arrived(pass))
        return;
    pass->request = NULL;
    const sbn_transport *transport = &pass->group->transport;
    if (sbn__mismatch_goes_on(pass->mismatch, transport->world_size)) {
        ++pass->place;
        start_explanation(pass);
        return;
    }
    char sentence[SBN_SENTENCE_SIZE];
    const int status = sbn__mismatch_read(pass->mismatch, pass->place, transport->rank,
                                          transport->world_size, sentence, sizeof sentence);
    settle(pass, sbn__fail(status, "%s", sentence));
}

void sbn__combine_progress(sbn_group *group)
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
            case SBN_STAGE_MISMATCH: leave_explanation(pass); break;
            case SBN_STAGE_SETTLED: break;
            }
        } while (pass->stage != before);
        const int sent = pass->stage == SBN_STAGE_SENT || pass->format == SBN_WIDE;
        oldest = oldest && pass->stage == SBN_STAGE_SETTLED;
        may_send = may_send && (sent || pass->stage >= SBN_STAGE_MISMATCH);
    }
}

void sbn__name_missing(const sbn_transport *transport, void *request, char *out, size_t size)
{
    int *ranks = transport->missing && request
                     ? sbn__allocate(sizeof(int) * (size_t)transport->world_size)
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
    sbn__free(ranks);
}

/* Begins the pass again with this rank's values alone. Its words in flight are abandoned. */
static void restart_alone(sbn_pass *pass)
{
    abandon(pass);
    pass->format = SBN_NARROW;
    for (sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next) {
        sbn__chunk_wait(layer_pass, &layer_pass->chunks[0]);
        sbn__layer_pass_start(layer_pass);
    }
    start_alone(pass);
    if (pass->stage == SBN_STAGE_LOCAL)
        sbn__reduce_enqueue(pass);
}

/* "forward of layer "first" and 2 more" */
static void name_pass(const sbn_pass *pass, char *out, size_t size)
{
    const sbn_call call = own_call(pass);
    size_t more = 0;
    for (const sbn_layer_pass *layer_pass = pass->layer_passes; layer_pass;
         layer_pass = layer_pass->next)
        more += layer_pass->place > 0;
    const int length = snprintf(out, size, "%s of layer \"%s\"", call.operation, call.name);
    if (more > 0 && length > 0 && (size_t)length < size)
        snprintf(out + length, size - (size_t)length, " and %zu more", more);
}

void sbn__combine_timeout(sbn_group *group)
{
    size_t first = 0;
    while (group->under_way[first]->stage == SBN_STAGE_SETTLED)
        ++first;
    char missing[128], call[128];
    const sbn_pass *late = group->under_way[first];
    sbn__name_missing(&group->transport, late->request, missing, sizeof missing);
    name_pass(late, call, sizeof call);
    const int local = group->on_timeout == SBN_TIMEOUT_LOCAL;
    group->alone = local;
    sbn__fail(SBN_TIMEOUT, "rank %d waited %g s in %s for %s", group->transport.rank,
              group->timeout, call, missing);
    if (!local) {
        sbn__group_fail(group, SBN_TIMEOUT);
        group->unreachable = 1;
    }
    for (size_t i = first; i < group->under_way_count; ++i) {
        sbn_pass *pass = group->under_way[i];
        if (pass->stage == SBN_STAGE_SETTLED || sbn__pass_is_local(pass))
            continue;
        if (local && !pass->error) {
            restart_alone(pass);
        } else {
            abandon(pass);
            settle(pass, SBN_TIMEOUT);
        }
    }
}
