#include "pass/progress.h"

#include <string.h>

#include "base/digest.h"
#include "collective/mismatch.h"
#include "pass/fallback.h"
#include "pass/start.h"

static void start(sbn_pass *pass, sbn_request *request, int tag, size_t count, sbn_stage stage)
{
    const int status = sbn__request_start(&pass->group->communicator, request, tag, count);
    if (status)
        sbn__passes_give_up(pass->group, status);
    else
        pass->stage = stage;
}

static int arrived(sbn_pass *pass, sbn_request *request)
{
    int done;
    const int status = sbn__request_poll(&pass->group->communicator, request, &done);
    if (status)
        sbn__passes_give_up(pass->group, status);
    return done;
}

/* Without memory for a request the communicator is dead. */
static void die_of_memory(sbn_pass *pass)
{
    char name[128];
    sbn__pass_name(pass, name, sizeof name);
    sbn__passes_give_up(pass->group,
                        sbn__communicator_die_of_memory(&pass->group->communicator, name));
}

static void fill_header(const sbn_pass *pass, int64_t *words)
{
    uint64_t digest = SBN_DIGEST_START;
    for (const sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        if (sbn__layer_pass_is_joined(lp))
            digest = sbn__call_digest(digest, &lp->call);
    sbn__header_fill(words, pass->error, pass->at_once, pass->layer_passes->call.number,
                     (uint32_t)pass->sent, digest);
}

/* The sums in the request: behind the header, where they travel with it. */
static int64_t *sums_of(const sbn_pass *pass)
{
    return pass->sums.words + (pass->one_request ? SBN_HEADER_WORDS : 0);
}

void sbn__progress_join(sbn_pass *pass)
{
    const size_t room = pass->group->communicator.forecast.words;
    const size_t words = SBN_HEADER_WORDS + room;
    pass->one_request = pass->at_once && !pass->error && pass->sent == room;
    if (pass->one_request) {
        pass->stage = SBN_STAGE_LOCAL;
    } else if (sbn__request_reserve(&pass->header, words, "a header")) {
        die_of_memory(pass);
    } else {
        memset(pass->header.words, 0, sizeof(int64_t) * words);
        fill_header(pass, pass->header.words);
        start(pass, &pass->header, SBN_TAG_HEADER, words, SBN_STAGE_HEADER);
    }
}

static void start_mismatch(sbn_pass *pass)
{
    const sbn_transport *transport = &pass->group->communicator.transport;
    const size_t words = sbn__mismatch_words(transport->world_size);
    const sbn_call call = sbn__pass_call(pass);
    if (sbn__request_reserve(&pass->mismatch, words, "a mismatch")) {
        die_of_memory(pass);
        return;
    }
    memset(pass->mismatch.words, 0, sizeof(int64_t) * words);
    sbn__mismatch_fill(pass->mismatch.words, transport->rank, &call);
    start(pass, &pass->mismatch, SBN_TAG_REPEAT, words, SBN_STAGE_MISMATCH);
}

static void leave_header(sbn_pass *pass, int oldest)
{
    if (!arrived(pass, &pass->header))
        return;
    if (sbn__header_agrees(&pass->group->communicator, pass->header.words, pass->sent))
        pass->stage = SBN_STAGE_LOCAL;
    else if (oldest)
        start_mismatch(pass);
}

/* The sums are complete, but for channels with terms in wide accumulators. */
static void finish_sums(sbn_pass *pass)
{
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next) {
        if (!lp->pending)
            continue;
        const sbn_accumulators all = sbn__sums_of(lp, pass->wide, sums_of(pass));
        lp->kind->finish(lp, &all);
        lp->wide_count = pass->wide ? 0 : sbn__needs_wide(&all, lp->layer->channels, lp->wide);
        lp->pending = lp->wide_count > 0;
        lp->result.wide |= lp->pending;
    }
    if (sbn__pass_has_pending(pass)) {
        pass->wide = 1;
        pass->one_request = 0;
        pass->stage = SBN_STAGE_LOCAL;
        sbn__start_on_host(pass);
    } else {
        sbn__pass_conclude(pass);
    }
}

static void send(sbn_pass *pass)
{
    const size_t words = pass->sent + (pass->one_request ? SBN_HEADER_WORDS : 0);
    if (!pass->error) {
        sbn__sums_convert(pass->layer_passes, pass->wide, pass->sent, 1, sums_of(pass));
    } else if (pass->sums.capacity >= words) {
        memset(pass->sums.words, 0, sizeof(int64_t) * words);
    } else {
        die_of_memory(pass);
        return;
    }
    *sums_of(pass) = pass->error != 0;
    if (pass->one_request)
        fill_header(pass, pass->sums.words);
    const int tag = pass->wide          ? SBN_TAG_REPEAT
                    : pass->one_request ? SBN_TAG_HEADER
                                        : SBN_TAG_WORDS;
    start(pass, &pass->sums, tag, words, SBN_STAGE_SENT);
}

/*
 * The pass fails on this rank alone: no request of it is open on other ranks. If it is joined, they
 * have already continued, so the group fails here.
 */
static void fail_alone(sbn_pass *pass)
{
    if (sbn__pass_is_joined(pass))
        sbn__communicator_fail(&pass->group->communicator,
                               sbn__fail(pass->error, "%s", pass->sentence));
    sbn__pass_settle(pass, pass->error);
}

static void leave_local(sbn_pass *pass, int oldest, int may_send)
{
    const int sends = pass->sent > 1;
    if (!sbn__start_arrived(pass))
        return;
    if (!sends && pass->error) {
        fail_alone(pass);
        return;
    }
    if (sends ? !may_send || (pass->wide && !oldest) : !oldest && !sbn__pass_is_local(pass))
        return;
    if (!pass->error)
        sbn__sums_add(pass->layer_passes, pass->wide, sums_of(pass));
    if (sends)
        send(pass);
    else
        finish_sums(pass);
}

static void leave_sent(sbn_pass *pass, int oldest)
{
    sbn_communicator *c = &pass->group->communicator;
    if (!arrived(pass, &pass->sums) || !oldest)
        return;
    const int64_t *words = pass->sums.words;
    if (pass->one_request ? !sbn__header_agrees(c, words, pass->sent) : words[0] != 0) {
        start_mismatch(pass);
        return;
    }
    if (pass->one_request && !sbn__header_at_once(c, words)) {
        /* Some rank's sums are not there: all send them in a request of their own. */
        pass->one_request = 0;
        pass->stage = SBN_STAGE_LOCAL;
        return;
    }
    sbn__sums_convert(pass->layer_passes, pass->wide, pass->sent, 0, sums_of(pass));
    if (sbn__pass_accept_counts(pass))
        finish_sums(pass);
}

static void leave_mismatch(sbn_pass *pass)
{
    const sbn_transport *transport = &pass->group->communicator.transport;
    const int64_t *words = pass->mismatch.words;
    if (!arrived(pass, &pass->mismatch))
        return;
    if (sbn__mismatch_goes_on(words, transport->world_size)) {
        ++pass->place;
        start_mismatch(pass);
        return;
    }
    int status = sbn__mismatch_read(words, pass->place, transport->rank, transport->world_size);
    if (sbn__mismatch_gives_up(words, transport->world_size)) {
        /* Another rank has given up: this rank's group fails, too. */
        sbn_communicator *c = &pass->group->communicator;
        sbn__passes_give_up(pass->group, sbn__communicator_part(c, SBN_REMOTE_ERROR));
    } else {
        sbn__pass_settle(pass, status);
    }
}

/* Advances the pass through its stages until it must wait. */
static void progress(sbn_pass *pass, int oldest, int may_send)
{
    sbn_stage stage;
    do {
        stage = pass->stage;
        switch (stage) {
        case SBN_STAGE_HEADER: leave_header(pass, oldest); break;
        case SBN_STAGE_LOCAL: leave_local(pass, oldest, may_send); break;
        case SBN_STAGE_SENT: leave_sent(pass, oldest); break;
        case SBN_STAGE_MISMATCH: leave_mismatch(pass); break;
        case SBN_STAGE_SETTLED: break;
        }
    } while (pass->stage != stage);
}

void sbn__progress(sbn_group *group)
{
    int oldest = 1, may_send = 1;
    sbn__communicator_sweep(&group->communicator);
    for (size_t i = 0; i < group->passes_under_way; ++i) {
        sbn_pass *pass = group->passes[i];
        progress(pass, oldest, may_send);
        const int sent = pass->stage == SBN_STAGE_SENT || pass->wide;
        oldest = oldest && pass->stage == SBN_STAGE_SETTLED;
        may_send = may_send && (sent || pass->stage >= SBN_STAGE_MISMATCH);
    }
}
