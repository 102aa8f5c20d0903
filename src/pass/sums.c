#include "pass/sums.h"

#include <string.h>

static const sbn_format *format_of(const sbn_layer_pass *lp, int wide)
{
    return wide ? &sbn_wide : lp->kind->format;
}

static size_t channels_of(const sbn_layer_pass *lp, int wide)
{
    return wide ? lp->wide_count : lp->layer->channels;
}

static size_t words_of(const sbn_layer_pass *lp, int wide)
{
    return sbn__accumulator_length(format_of(lp, wide)) * channels_of(lp, wide);
}

size_t sbn__sums_lay_out(sbn_layer_pass *first, int wide, size_t *sent)
{
    size_t used = 1;
    for (int joined = 1; joined >= 0; --joined) {
        for (sbn_layer_pass *lp = first; lp; lp = lp->next) {
            if (!lp->pending || !sbn__layer_pass_has_peers(lp) ||
                sbn__layer_pass_is_joined(lp) != joined)
                continue;
            lp->at = used;
            used += 1 + words_of(lp, wide);
        }
        if (joined)
            *sent = used;
    }
    return used;
}

/* Reads `words` words per channel, behind room for `before` of them. */
static int read(sbn_layer_pass *lp, sbn_replica *replica, cl_mem from, size_t words, size_t before,
                sbn_staging *to)
{
    sbn_work *work = &lp->work[replica->index];
    const size_t channels = lp->layer->channels;
    if (lp->shapes[replica->index].values == 0)
        return SBN_SUCCESS;
    sbn_wait wait = sbn__layer_pass_wait(lp, replica);
    cl_event event = NULL;
    int status = sbn__staging_reserve(replica, to, sizeof(int64_t) * (before + words) * channels);
    sbn__wait_behind(&wait, replica, replica, work->last);
    if (!status)
        status = sbn__read(replica, from, sizeof(int64_t) * words * channels,
                           (int64_t *)to->at + before * channels, &wait, &event);
    if (!status)
        sbn__move_event(&work->last, &event);
    return status;
}

int sbn__sums_read(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_work *work = &lp->work[replica->index];
    return read(lp, replica, work->reduced.mem, sbn__accumulator_length(lp->kind->format), 0,
                &work->on_host);
}

int sbn__sums_read_wide(sbn_layer_pass *lp, sbn_replica *replica)
{
    sbn_work *work = &lp->work[replica->index];
    return read(lp, replica, work->wide.mem, sbn__wide_limbs(), sbn__accumulator_length(&sbn_wide),
                &work->wide_on_host);
}

int sbn__sums_arrived(const sbn_layer_pass *lp, int *done)
{
    const sbn_group *group = lp->group;
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < group->replica_count && *done && !status; ++r)
        if (lp->work[r].last)
            status = sbn__event_done(&group->replicas[r], lp->work[r].last, done);
    for (size_t r = 0; r < group->replica_count && *done && !status; ++r)
        if (lp->work[r].last)
            status = sbn__event_wait(&group->replicas[r], lp->work[r].last);
    return status;
}

/* Adds a replica's narrow and wide accumulators; or finds that no block has changed those. */
static void join(sbn_layer_pass *lp, int is_wide, size_t replica)
{
    sbn_work *work = &lp->work[replica];
    const sbn_accumulators narrow = sbn__sums_of_replica(lp, replica, lp->kind->format);
    int64_t flags = 0;
    if (is_wide) {
        int64_t *wide = work->wide_on_host.at;
        const size_t channels = lp->layer->channels;
        sbn__accumulators_widen(&narrow, channels, lp->wide,
                                wide + sbn__accumulator_length(&sbn_wide) * channels, wide);
        return;
    }
    for (size_t c = 0; c < lp->layer->channels; ++c)
        flags |= sbn__accumulator_flags(&narrow, c);
    work->wide_is_clear = !(flags & SBN_FLAG_WIDE);
}

void sbn__sums_add(sbn_layer_pass *lp, int wide, int64_t *words)
{
    for (; lp; lp = lp->next) {
        if (!lp->pending)
            continue;
        const sbn_format *format = format_of(lp, wide);
        const int adds = lp->at > 0;
        int64_t *at = words + lp->at;
        if (adds) {
            *at++ = (int64_t)lp->own;
            memset(at, 0, sizeof *at * words_of(lp, wide));
        }
        for (size_t r = 0; r < lp->group->replica_count; ++r) {
            if (lp->shapes[r].values == 0)
                continue;
            join(lp, wide, r);
            const sbn_accumulators own = sbn__sums_of_replica(lp, r, format);
            if (adds)
                sbn__accumulators_add(own.at, format, channels_of(lp, wide), at);
        }
    }
}

void sbn__sums_convert(sbn_layer_pass *lp, int wide, size_t sent, int to_send, int64_t *words)
{
    for (; lp; lp = lp->next) {
        if (!lp->pending || lp->at == 0 || lp->at >= sent)
            continue;
        if (!to_send)
            lp->count = (uint64_t)words[lp->at];
        sbn__accumulators_convert(words + lp->at + 1, format_of(lp, wide), channels_of(lp, wide),
                                  to_send);
    }
}

sbn_accumulators sbn__sums_of(const sbn_layer_pass *lp, int wide, const int64_t *words)
{
    const sbn_format *format = format_of(lp, wide);
    return lp->at > 0 ? (sbn_accumulators){words + lp->at + 1, format}
                      : sbn__sums_of_replica(lp, 0, format);
}

sbn_accumulators sbn__sums_of_replica(const sbn_layer_pass *lp, size_t replica,
                                      const sbn_format *format)
{
    const sbn_work *work = &lp->work[replica];
    return (sbn_accumulators){format == &sbn_wide ? work->wide_on_host.at : work->on_host.at,
                              format};
}
