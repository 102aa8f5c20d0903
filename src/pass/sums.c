#include "pass/sums.h"

#include <string.h>

static size_t words_of(const sbn_sums *sums, const sbn_layer_pass *lp)
{
    return sbn__accumulator_length(lp->kind->format(sums->format)) * lp->layer->channels;
}

size_t sbn__sums_lay_out(const sbn_sums *sums, size_t *sent)
{
    size_t used = 1;
    for (int joined = 1; joined >= 0; --joined) {
        for (sbn_layer_pass *lp = sums->layer_passes; lp; lp = lp->next) {
            if (!lp->pending || !sbn__layer_pass_has_peers(lp) ||
                sbn__layer_pass_is_joined(lp) != joined)
                continue;
            lp->at = used;
            used += 1 + words_of(sums, lp);
        }
        if (joined)
            *sent = used;
    }
    return used;
}

int sbn__sums_read(const sbn_layer_pass *lp, sbn_replica *replica, int format)
{
    sbn_work *work = &lp->work[replica->index];
    const sbn_format *shape = lp->kind->format(format);
    const size_t bytes = sizeof(int64_t) * sbn__accumulator_length(shape) * lp->layer->channels;
    if (lp->shapes[replica->index].values == 0)
        return SBN_SUCCESS;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    cl_event read = NULL;
    int status = sbn__staging_reserve(replica, &work->on_host, bytes);
    sbn__wait_behind(&wait, replica, replica, work->last);
    if (!status)
        status = sbn__read(replica, work->accumulators.mem, bytes, work->on_host.at, &wait, &read);
    if (!status)
        sbn__move_event(&work->last, &read);
    return status;
}

int sbn__sums_arrived(const sbn_layer_pass *lp, int *done)
{
    const sbn_group *group = lp->group;
    int status = SBN_SUCCESS;
    *done = 1;
    for (size_t r = 0; r < group->replica_count && *done && !status; ++r)
        if (lp->work[r].last)
            status = sbn__event_done(&group->replicas[r], lp->work[r].last, done);
    for (size_t r = 0; r < group->replica_count && *done && !status; ++r)
        if (lp->work[r].last)
            status = sbn__event_wait(&group->replicas[r], lp->work[r].last);
    return status;
}

void sbn__sums_add(const sbn_sums *sums, int64_t *words)
{
    for (sbn_layer_pass *lp = sums->layer_passes; lp; lp = lp->next) {
        if (!lp->pending || !sbn__layer_pass_has_peers(lp))
            continue;
        const sbn_format *format = lp->kind->format(sums->format);
        int64_t *at = words + lp->at;
        *at++ = (int64_t)lp->own;
        memset(at, 0, sizeof *at * words_of(sums, lp));
        for (size_t r = 0; r < lp->group->replica_count; ++r)
            if (lp->shapes[r].values > 0)
                sbn__accumulators_add(lp->work[r].on_host.at, format, lp->layer->channels, at);
    }
}

void sbn__sums_encode(const sbn_sums *sums, int64_t *words)
{
    for (sbn_layer_pass *lp = sums->layer_passes; lp; lp = lp->next)
        if (lp->pending && sbn__layer_pass_is_joined(lp))
            sbn__accumulators_encode(words + lp->at + 1, lp->kind->format(sums->format),
                                     lp->layer->channels);
}

void sbn__sums_decode(const sbn_sums *sums, int64_t *words)
{
    for (sbn_layer_pass *lp = sums->layer_passes; lp; lp = lp->next) {
        if (!lp->pending || !sbn__layer_pass_is_joined(lp))
            continue;
        lp->count = (uint64_t)words[lp->at];
        sbn__accumulators_decode(words + lp->at + 1, lp->kind->format(sums->format),
                                 lp->layer->channels);
    }
}

sbn_accumulators sbn__sums_of(const sbn_sums *sums, sbn_layer_pass *lp, const int64_t *words)
{
    const sbn_format *format = lp->kind->format(sums->format);
    return sbn__layer_pass_has_peers(lp) ? sbn__accumulators_at(words + lp->at + 1, format)
                                         : sbn__sums_of_replica(lp, 0, format);
}

sbn_accumulators sbn__sums_of_replica(const sbn_layer_pass *lp, size_t replica,
                                      const sbn_format *format)
{
    return sbn__accumulators_at(lp->work[replica].on_host.at, format);
}
