#include "pieces.h"

#include "reduce.h"
#include "share.h"

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Tensors that step 1 reads, and step 3 reads again. */
static size_t tensors_of(const sbn_part *part)
{
    return part->kind->needs & SBN_NEEDS_DY ? 2 : 1;
}

static int reads_again(const sbn_part *part, size_t replica)
{
    const sbn_share *share = &part->shares[replica];
    return part->geometries[replica].elements > 0 && (share->y.mem || share->dx.mem);
}

size_t sbn_pieces_channels(const sbn_pass *pass)
{
    const sbn_group *group = pass->group;
    const sbn_part *part = pass->parts;
    const size_t all = part->layer->channels;
    size_t least = all;
    if (part->next || sbn_part_is_joined(part) || group->under_way_count > 0 ||
        !part->kind->reduce || part->count < part->kind->least_count)
        return 0;
    for (size_t r = 0; r < group->replica_count; ++r) {
        if (!reads_again(part, r))
            continue;
        const size_t channels = sbn_piece_channels(&part->geometries[r], &group->replicas[r],
                                                   tensors_of(part), group->replica_count);
        least = smaller(least, channels);
    }
    return least < all ? least : 0;
}

/* Waits for a piece's words and takes them. */
static int take(sbn_pass *pass, sbn_part *part, sbn_piece *piece, int window, int *again)
{
    const sbn_window *shape = part->kind->window(window);
    int status = SBN_SUCCESS, done;
    sbn_piece_wait(part, piece);
    for (size_t r = 0; r < part->group->replica_count && !status; ++r)
        if (piece->work[r].read)
            status = sbn_event_done(&part->group->replicas[r], piece->work[r].read, &done);
    if (!status && sbn_reduce_must_add(part))
        status = sbn_grow((void **)&pass->sums, &pass->sums_size,
                          sizeof(int64_t) * sbn_window_words(shape) * piece->channels);
    if (status)
        return status;
    sbn_words words;
    if (sbn_reduce_must_add(part)) {
        sbn_reduce_add_piece(part, piece, shape, pass->sums);
        words = sbn_words_at(pass->sums, shape);
    } else {
        words = sbn_reduce_words(piece, 0, shape);
    }
    *again = part->kind->take(part, piece, &words);
    return SBN_SUCCESS;
}

static int apply(sbn_part *part, sbn_piece *piece)
{
    int status = SBN_SUCCESS;
    part->kind->fill(part, piece);
    /* Its statistics on the devices are no longer those that it was filled with. */
    if (part->kind->fills)
        part->saved->filled = 0;
    for (size_t r = 0; r < part->group->replica_count && !status; ++r) {
        sbn_replica *replica = &part->group->replicas[r];
        status = part->kind->apply(part, piece, replica);
        if (!status)
            status = sbn_flush(replica);
    }
    return status;
}

/* Steps 2 and 3 of a piece whose reduction is enqueued. */
static int complete(sbn_pass *pass, sbn_part *part, sbn_piece *piece)
{
    int again = 0;
    int status = take(pass, part, piece, SBN_NARROW, &again);
    if (!status && again) {
        part->result.wide = 1;
        status = sbn_reduce_piece(part, piece, SBN_WIDE);
        if (!status)
            status = take(pass, part, piece, SBN_WIDE, &again);
    }
    return status ? status : apply(part, piece);
}

/* Reduces channels from `first` on; step 3 of the piece fetches those of the piece after the next. */
static int start(sbn_part *part, sbn_piece *piece, size_t first, size_t channels)
{
    const size_t all = part->layer->channels, ahead = SBN_PIECES * channels;
    const size_t beyond = first + ahead < all ? all - first - ahead : 0;
    sbn_piece_set(part, piece, first, smaller(channels, all - first));
    for (size_t r = 0; r < part->group->replica_count; ++r) {
        piece->geometries[r].ahead = ahead;
        piece->geometries[r].ahead_channels = smaller(channels, beyond);
    }
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
        status = complete(pass, part, &part->pieces[i]);
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
