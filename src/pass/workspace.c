/* The group keeps the memory of ended passes for those to come. */
#include <string.h>

#include "base/memory.h"
#include "pass/pass.h"

static void free_pass(sbn_pass *pass)
{
    sbn__free(pass->header);
    sbn__free(pass->sums);
    sbn__free(pass->mismatch);
    sbn__object_remove(&pass->object);
    sbn__free(pass);
}

void sbn__passes_free(sbn_group *group)
{
    sbn__layer_passes_free(group->idle_layer_passes);
    group->idle_layer_passes = NULL;
    while (group->idle) {
        sbn_pass *pass = group->idle;
        group->idle = pass->next_idle;
        free_pass(pass);
    }
}

void sbn__pass_release(sbn_pass *pass)
{
    sbn_group *group = pass->group;
    size_t i = 0;
    while (i < group->under_way_count && group->under_way[i] != pass)
        ++i;
    if (i < group->under_way_count) {
        --group->under_way_count;
        memmove(group->under_way + i, group->under_way + i + 1,
                sizeof(sbn_pass *) * (group->under_way_count - i));
    }
    sbn__layer_passes_release(pass->layer_passes);
    pass->layer_passes = NULL;
    pass->next_idle = group->idle;
    group->idle = pass;
}

static sbn_pass *make_pass(void)
{
    sbn_pass *pass = sbn__allocate(sizeof *pass);
    if (pass)
        sbn__object_add(&pass->object, SBN_HANDLE_PASS);
    return pass;
}

int sbn__pass_acquire(sbn_group *group, size_t count, sbn_pass **found)
{
    sbn_pass *pass = group->idle;
    if (pass)
        group->idle = pass->next_idle;
    else
        pass = make_pass();
    if (!pass)
        return sbn__fail_memory("a pass");
    pass->group = group;
    pass->stage = SBN_STAGE_HEADER;
    pass->format = SBN_NARROW;
    pass->error = SBN_SUCCESS;
    pass->culprit = NULL;
    pass->request = NULL;
    pass->applied = 0;
    pass->sent = 0;
    pass->place = 0;
    if (!pass->header)
        pass->header = sbn__allocate(sizeof(int64_t) * SBN_HEADER_WORDS);
    const int status = pass->header ? sbn__layer_passes_acquire(group, count, &pass->layer_passes)
                                    : sbn__fail_memory("a pass");
    if (status)
        sbn__pass_release(pass);
    *found = pass;
    return status;
}
