#include "pieces.h"

#include "reduce.h"
#include "share.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

size_t sbn_pieces_channels(const sbn_pass *pass)
{
    const sbn_group *group = pass->group;
    const sbn_part *part = pass->parts;
    if (part->next || sbn_part_is_joined(part) || group->replica_count != 1 ||
        group->under_way_count > 0 || !part->kind->reduce || part->count < part->kind->least_count)
        return 0;
    if (!part->kind->fills && !part->shares->dx.mem)
        return 0; /* step 3 writes no tensor */
    const size_t tensors = part->kind->needs & SBN_NEEDS_DY ? 2 : 1;
    const size_t channels = sbn_piece_channels(part->geometries, group->replicas, tensors);
    return channels < part->layer->channels ? channels : 0;
}

/* Waits for a piece's words and takes them. */
static int take(sbn_part *part, sbn_piece *piece, int window, int *again)
{
    int done;
    sbn_piece_wait(part, piece);
    const int status = sbn_event_done(part->group->replicas, piece->work->read, &done);
    if (status)
        return status;
    const sbn_words words = sbn_reduce_words(piece, 0, part->kind->window(window));
    *again = part->kind->take(part, piece, &words);
    return SBN_SUCCESS;
}

/* Steps 2 and 3 of a piece whose reduction is enqueued. */
static int complete(sbn_part *part, sbn_piece *piece)
{
    sbn_replica *replica = part->group->replicas;
    int again = 0;
    int status = take(part, piece, SBN_NARROW, &again);
    if (!status && again) {
        part->result.wide = 1;
        status = sbn_reduce_piece(part, piece, SBN_WIDE);
        if (!status)
            status = take(part, piece, SBN_WIDE, &again);
    }
    if (status)
        return status;
    part->kind->fill(part, piece);
    /* Its statistics on the device are no longer those that it was filled with. */
    if (part->kind->fills)
        part->saved->filled = 0;
    status = part->kind->apply(part, piece, replica);
    return status ? status : sbn_flush(replica);
}

/* Reduces channels from `first` on; step 3 of the piece fetches those of the piece after the next. */
static int start(sbn_part *part, sbn_piece *piece, size_t first, size_t channels)
{
    const size_t all = part->layer->channels, ahead = SBN_PIECES * channels;
    const size_t beyond = first + ahead < all ? all - first - ahead : 0;
    sbn_piece_set(part, piece, first, smaller(channels, all - first));
    piece->geometries->ahead = ahead;
    piece->geometries->ahead_channels = smaller(channels, beyond);
    return sbn_reduce_piece(part, piece, SBN_NARROW);
}

int sbn_pieces_run(sbn_pass *pass, size_t channels)
{
    sbn_part *part = pass->parts;
    const size_t all = part->layer->channels;
    int status = SBN_SUCCESS;
    for (size_t i = 0; i < SBN_PIECES && !status; ++i)
        status = start(part, &part->pieces[i], i * channels, channels);
    for (size_t first = 0, i = 0; first < all && !status; first += channels, i = !i) {
        const size_t next = first + SBN_PIECES * channels;
        status = complete(part, &part->pieces[i]);
        if (!status && next < all)
            status = start(part, &part->pieces[i], next, channels);
    }
    sbn_pass_error(pass, part, status);
    if (!status && part->kind->commit)
        part->kind->commit(part);
    pass->applied = 1;
    pass->stage = SBN_STAGE_SETTLED;
    pass->status = status;
    return status;
}
