#include "pass/fallback.h"

#include <string.h>

#include "collective/mismatch.h"
#include "pass/prepare.h"
#include "pass/start.h"

sbn_request *sbn__pass_request(sbn_pass *pass)
{
    if (pass->header.in_flight)
        return &pass->header;
    return pass->sums.in_flight ? &pass->sums : &pass->mismatch;
}

static void abandon(sbn_pass *pass)
{
    sbn_communicator *c = &pass->group->communicator;
    sbn__request_abandon(c, &pass->header);
    sbn__request_abandon(c, &pass->sums);
    sbn__request_abandon(c, &pass->mismatch);
}

/* Goes back to the sums of this rank's values alone, which arrive on the host or are there, and stay. */
static void restart_alone(sbn_pass *pass)
{
    abandon(pass);
    pass->wide = pass->one_request = 0;
    for (sbn_layer_pass *lp = pass->layer_passes; lp; lp = lp->next)
        sbn__layer_pass_start(lp);
    sbn__pass_start_alone(pass);
    if (pass->stage == SBN_STAGE_LOCAL)
        sbn__start_lay_out(pass);
}

void sbn__passes_give_up(sbn_group *group, int status)
{
    for (size_t i = 0; i < group->passes_under_way; ++i) {
        sbn_pass *pass = group->passes[i];
        if (pass->stage == SBN_STAGE_SETTLED || sbn__pass_is_local(pass))
            continue;
        if (group->communicator.alone && !pass->error) {
            restart_alone(pass);
        } else {
            abandon(pass);
            sbn__pass_settle(pass, status);
        }
    }
}

/*
 * Tells ranks that join the pass after this rank has given it up: the header reports an error, and the mismatch says
 * that it is this rank's SBN_TIMEOUT or SBN_ABORTED. They then need not wait for their own timeout, and no request of
 * the pass stays incomplete, but for the sums where they make another call: this rank abandons them with the header.
 * Not after sums that went with the header: other ranks may have them all, and their next request with SBN_TAG_REPEAT
 * may be another one. An error of the transport is returned.
 */
static int leave_word(sbn_pass *pass)
{
    int status = SBN_SUCCESS;
    sbn_communicator *c = &pass->group->communicator;
    const size_t words = sbn__mismatch_words(c->transport.world_size);
    sbn_call call = sbn__pass_call(pass);
    if (!pass->header.in_flight || sbn__request_reserve(&pass->mismatch, words, "a mismatch"))
        return SBN_SUCCESS;
    call.error = sbn__communicator_is_aborted(c) ? SBN_ABORTED : SBN_TIMEOUT;
    /* If the header already had an error, the mismatch follows at once. */
    if (!pass->error) {
        memset(pass->sums.words, 0, sizeof(int64_t) * pass->sent);
        pass->sums.words[0] = 1;
        status = sbn__request_start(c, &pass->sums, SBN_TAG_WORDS, pass->sent);
    }
    memset(pass->mismatch.words, 0, sizeof(int64_t) * words);
    sbn__mismatch_fill(pass->mismatch.words, c->transport.rank, &call);
    return status ? status : sbn__request_start(c, &pass->mismatch, SBN_TAG_REPEAT, words);
}

void sbn__passes_time_out(sbn_group *group, sbn_pass *oldest)
{
    char call[128];
    sbn__pass_name(oldest, call, sizeof call);
    int status = leave_word(oldest);
    if (!status)
        status = sbn__communicator_time_out(&group->communicator, sbn__pass_request(oldest), call);
    sbn__passes_give_up(group, status);
}
