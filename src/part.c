#include "part.h"

#include <string.h>

#include "handles.h"
#include "reduce.h"
#include "share.h"

int sbn_part_is_joined(const sbn_part *part)
{
    return !part->kind->local && sbn_group_is_joined(part->group);
}

static void free_piece(sbn_piece *piece, size_t replicas)
{
    for (size_t r = 0; piece->work && r < replicas; ++r) {
        sbn_work *work = &piece->work[r];
        sbn_reduce_wait(work);
        sbn_release_event(&work->read);
        sbn_release_buffer(&work->partial);
        sbn_release_buffer(&work->words);
        sbn_staging_release(&work->host);
    }
    sbn_free(piece->work);
    sbn_free(piece->geometries);
}

static void free_part(sbn_part *part)
{
    const size_t replicas = part->group->replica_count;
    for (int i = 0; i < SBN_PIECES; ++i)
        free_piece(&part->pieces[i], replicas);
    for (size_t r = 0; r < replicas; ++r) {
        if (part->ready)
            sbn_release_event(&part->ready[r]);
        if (part->last)
            sbn_release_event(&part->last[r]);
    }
    sbn_table_destroy(&part->gradients);
    sbn_free(part->shares);
    sbn_free(part->geometries);
    sbn_free(part->ready);
    sbn_free(part->last);
    sbn_free(part->repeat);
    for (int i = 0; i < SBN_COLUMNS; ++i)
        sbn_free(part->columns[i]);
    sbn_free(part);
}

void sbn_parts_free(sbn_part *parts)
{
    while (parts) {
        sbn_part *next = parts->next;
        free_part(parts);
        parts = next;
    }
}

static int make_piece(sbn_piece *piece, size_t replicas)
{
    piece->geometries = sbn_allocate(sizeof *piece->geometries * replicas);
    piece->work = sbn_allocate(sizeof *piece->work * replicas);
    return piece->geometries && piece->work;
}

static sbn_part *make_part(sbn_group *group)
{
    sbn_part *part = sbn_allocate(sizeof *part);
    if (!part)
        return NULL;
    const size_t replicas = group->replica_count;
    part->group = group;
    part->shares = sbn_allocate(sizeof *part->shares * replicas);
    part->geometries = sbn_allocate(sizeof *part->geometries * replicas);
    part->ready = sbn_allocate(sizeof *part->ready * replicas);
    part->last = sbn_allocate(sizeof *part->last * replicas);
    int made = part->shares && part->geometries && part->ready && part->last;
    for (int i = 0; i < SBN_PIECES && made; ++i)
        made = make_piece(&part->pieces[i], replicas);
    if (made)
        return part;
    free_part(part);
    return NULL;
}

int sbn_parts_acquire(sbn_group *group, size_t count, sbn_part **parts)
{
    sbn_part **end = &group->idle_parts;
    for (; count > 0; --count) {
        if (!*end)
            *end = make_part(group);
        if (!*end)
            return sbn_fail_memory("a pass");
        end = &(*end)->next;
    }
    *parts = group->idle_parts;
    group->idle_parts = *end;
    *end = NULL;
    return SBN_SUCCESS;
}

/* In the same order: the next call of as many layers finds memory of the right size. */
void sbn_parts_release(sbn_part *parts)
{
    sbn_part **end = &parts;
    for (; *end; end = &(*end)->next) {
        sbn_saved *saved = (*end)->saved;
        if (saved) {
            --saved->used;
            saved->filling = saved->filling && !(*end)->kind->fills;
        }
        (*end)->saved = NULL;
        (*end)->layer = NULL;
    }
    if (!parts)
        return;
    sbn_group *group = parts->group;
    *end = group->idle_parts;
    group->idle_parts = parts;
}

/* Names the call in headers and sentences. */
static void describe(sbn_part *part)
{
    const sbn_batchnorm *layer = part->layer;
    const sbn_saved *read = part->kind->fills ? NULL : part->saved;
    part->call = (sbn_call){
        .operation = part->kind->operation,
        .name = layer ? layer->name : "",
        .code = part->kind->code,
        .settings = layer ? &layer->settings : NULL,
        .flags = part->flags & ~(unsigned)SBN_ACCUMULATE_GRADIENTS,
        .channels = layer ? (uint32_t)layer->channels : 0,
        .saved = read ? read->pass : 0,
        .saved_place = read ? read->place : 0,
    };
}

static int check_layer(const sbn_batchnorm *layer, const sbn_group *group)
{
    const int status = sbn_check_handle(layer, SBN_TAG_BATCHNORM, "layer");
    if (!status && layer->group != group)
        return sbn_fail(SBN_INVALID_ARGUMENT,
                        "layer: one of the first layer's group was expected, layer \"%s\" of "
                        "another group came",
                        layer->name);
    return status;
}

int sbn_part_open(sbn_part *part, sbn_choose *choose, const sbn_branch *branch)
{
    sbn_branch call = *branch;
    int status = check_layer(call.layer, part->group);
    part->layer = status ? NULL : call.layer;
    part->kind = choose(&call, &status);
    part->flags = call.flags;
    part->place = 0;
    if (!status) {
        part->saved = call.saved;
        ++part->saved->used;
        part->saved->filling |= part->kind->fills;
    }
    describe(part);
    return status;
}

void sbn_part_start(sbn_part *part)
{
    part->pending = part->kind->reduce != NULL;
    part->count = part->own;
    part->result = (sbn_result){sizeof part->result, 0, !part->group->alone, 0};
    memset(part->repeat, 0, part->layer->channels);
}

int sbn_part_prepare(sbn_part *part, const sbn_share *shares)
{
    const sbn_group *group = part->group;
    const char *operation = part->kind->operation;
    int status = sbn_reduce_prepare(part);
    if (!status)
        status = sbn_check_shares(part->layer, shares, part->kind->needs, operation,
                                  part->geometries);
    if (!status && !part->kind->fills)
        status = sbn_check_same_shapes(part->saved, part->geometries, operation);
    part->own = 0;
    for (size_t r = 0; r < group->replica_count && !status; ++r) {
        const sbn_share *share = &shares[r];
        part->shares[r] = *share;
        part->own += part->geometries[r].values;
        if (share->num_wait > 0)
            status = sbn_marker(&group->replicas[r], share->num_wait, share->wait_list,
                                &part->ready[r]);
    }
    if (status)
        return status;
    sbn_piece_set(part, &part->pieces[0], 0, part->layer->channels);
    sbn_part_start(part);
    return SBN_SUCCESS;
}

void sbn_piece_set(const sbn_part *part, sbn_piece *piece, size_t first, size_t channels)
{
    piece->first = first;
    piece->channels = channels;
    for (size_t r = 0; r < part->group->replica_count; ++r)
        piece->geometries[r] = sbn_geometry_piece(&part->geometries[r], first, channels);
}

void sbn_piece_wait(const sbn_part *part, const sbn_piece *piece)
{
    for (size_t r = 0; r < part->group->replica_count; ++r)
        sbn_reduce_wait(&piece->work[r]);
}

int sbn_part_check_last(const sbn_part *part, const sbn_replica *replica)
{
    const cl_event last = part->last[replica->index];
    int done;
    return last ? sbn_event_done(replica, last, &done) : SBN_SUCCESS;
}

int sbn_part_finish(sbn_part *part, sbn_replica *replica)
{
    cl_event *last = &part->last[replica->index];
    int status = part->kind->store ? part->kind->store(part, replica) : SBN_SUCCESS;
    if (!status)
        status = sbn_hand_over(replica, &part->shares[replica->index], *last);
    sbn_release_event(last);
    return status;
}

/* Gradients may meet: those of one layer add up. */
static size_t list_tensors(sbn_use *uses, const sbn_part *part, size_t replica)
{
    return sbn_list_uses(uses, &part->shares[replica], &part->geometries[replica],
                         part->kind->needs & ~(unsigned)SBN_MAY_GRADIENTS, part->layer->affine);
}

static int check_replica_apart(const sbn_part *part, const sbn_part *other, size_t replica)
{
    sbn_use mine[SBN_MAX_USES], theirs[SBN_MAX_USES];
    const size_t count = list_tensors(mine, part, replica);
    const size_t others = list_tensors(theirs, other, replica);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < others; ++j)
            if ((mine[i].written || theirs[j].written) && sbn_uses_overlap(&mine[i], &theirs[j]))
                return sbn_fail(SBN_INVALID_ARGUMENT,
                                "%s of layer \"%.48s\", rank %d, replica %zu: %s must not overlap "
                                "%s of layer \"%.48s\" in the same call",
                                part->call.operation, part->call.name, sbn_group_rank(part->group),
                                replica, mine[i].name, theirs[j].name, other->call.name);
    return SBN_SUCCESS;
}

int sbn_part_check_apart(const sbn_part *part, const sbn_part *other)
{
    int status = SBN_SUCCESS;
    for (size_t r = 0; r < part->group->replica_count && !status; ++r)
        status = check_replica_apart(part, other, r);
    return status;
}
