/* The group keeps the memory of ended passes for those to come. */
#include <string.h>

#include "handles.h"
#include "pass.h"

static void free_pass(sbn_pass *pass)
{
    sbn_free(pass->header);
    sbn_free(pass->sums);
    sbn_free(pass->explanation);
    pass->tag = 0;
    sbn_free(pass);
}

void sbn_passes_free(sbn_group *group)
{
    sbn_parts_free(group->idle_parts);
    group->idle_parts = NULL;
    while (group->idle) {
        sbn_pass *pass = group->idle;
        group->idle = pass->next_idle;
        free_pass(pass);
    }
}

void sbn_pass_release(sbn_pass *pass)
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
    sbn_parts_release(pass->parts);
    pass->parts = NULL;
    pass->next_idle = group->idle;
    group->idle = pass;
}

int sbn_pass_acquire(sbn_group *group, size_t count, sbn_pass **found)
{
    sbn_pass *pass = group->idle;
    if (pass)
        group->idle = pass->next_idle;
    else
        pass = sbn_allocate(sizeof *pass);
    if (!pass)
        return sbn_fail_memory("a pass");
    pass->tag = SBN_TAG_PASS;
    pass->group = group;
    pass->stage = SBN_STAGE_HEADER;
    pass->window = SBN_NARROW;
    pass->error = SBN_SUCCESS;
    pass->culprit = NULL;
    pass->request = NULL;
    pass->applied = 0;
    pass->sent = 0;
    pass->place = 0;
    if (!pass->header)
        pass->header = sbn_allocate(sizeof(int64_t) * SBN_HEADER_WORDS);
    const int status = pass->header ? sbn_parts_acquire(group, count, &pass->parts)
                                    : sbn_fail_memory("a pass");
    if (status)
        sbn_pass_release(pass);
    *found = pass;
    return status;
}
