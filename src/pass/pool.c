#include "pass/pool.h"

#include "base/memory.h"

static void free_passes(sbn_group *group)
{
    while (group->idle_layer_passes) {
        sbn_layer_pass *next = group->idle_layer_passes->next;
        sbn__layer_pass_destroy(group->idle_layer_passes);
        group->idle_layer_passes = next;
    }
    while (group->idle_passes) {
        sbn_pass *pass = group->idle_passes;
        group->idle_passes = pass->next_idle;
        sbn__request_free(&pass->header);
        sbn__request_free(&pass->sums);
        sbn__request_free(&pass->mismatch);
        sbn__object_remove(&pass->object);
        sbn__free(pass);
    }
}

static int acquire_layer_passes(sbn_group *group, size_t count, sbn_layer_pass **layer_passes)
{
    sbn_layer_pass **end = &group->idle_layer_passes;
    for (; count > 0; --count) {
        if (!*end)
            *end = sbn__layer_pass_create(group);
        if (!*end)
            return sbn__fail_memory("a pass");
        end = &(*end)->next;
    }
    *layer_passes = group->idle_layer_passes;
    group->idle_layer_passes = *end;
    *end = NULL;
    return SBN_SUCCESS;
}

/* They keep their order, so that the next call of as many layers finds memory of the right sizes. */
static void release_layer_passes(sbn_group *group, sbn_layer_pass *layer_passes)
{
    sbn_layer_pass **end = &layer_passes;
    for (; *end; end = &(*end)->next)
        sbn__layer_pass_release(*end);
    *end = group->idle_layer_passes;
    group->idle_layer_passes = layer_passes;
}

sbn_pass *sbn__pass_unsettled(const sbn_group *group)
{
    size_t i = 0;
    while (group->passes[i]->stage == SBN_STAGE_SETTLED)
        ++i;
    return group->passes[i];
}

void sbn__pass_release(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    size_t left = 0;
    for (size_t i = 0; i < group->passes_under_way; ++i)
        if (group->passes[i] != pass)
            group->passes[left++] = group->passes[i];
    group->passes_under_way = left;
    release_layer_passes(group, pass->layer_passes);
    pass->layer_passes = NULL;
    pass->next_idle = group->idle_passes;
    group->idle_passes = pass;
}

int sbn__pass_acquire(sbn_group *group, size_t count, sbn_pass **found)
{
    group->free_passes = free_passes;
    if (!group->idle_passes) {
        group->idle_passes = sbn__allocate(sizeof *group->idle_passes);
        if (!group->idle_passes)
            return sbn__fail_memory("a pass");
        sbn__object_add(&group->idle_passes->object, SBN_HANDLE_PASS);
    }
    sbn_pass *pass = *found = group->idle_passes;
    int status = sbn__request_reserve(&pass->header, SBN_HEADER_WORDS, "a pass");
    if (!status)
        status = acquire_layer_passes(group, count, &pass->layer_passes);
    if (status)
        return status;
    group->idle_passes = pass->next_idle;
    /* Not by one assignment: other threads read `object` while they look for theirs. */
    pass->group = group;
    pass->stage = SBN_STAGE_HEADER;
    pass->wide = pass->one_request = 0;
    pass->error = pass->status = SBN_SUCCESS;
    pass->culprit = NULL;
    pass->place = 0;
    return SBN_SUCCESS;
}
