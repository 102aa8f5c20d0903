/* Splits a group by colour: the replicas of each colour get a group. */
#include "base/memory.h"
#include "collective/split.h"
#include "group/group.h"

typedef struct splitting {
    sbn_group *group;
    const int *colours;  /* per replica */
    size_t count;        /* distinct colours of this rank, */
    sbn_subset *subsets; /* ascending, */
    sbn_group **groups;  /* and a group of each */
} splitting;

static int check_split(sbn_group *group, const int *colours, sbn_group **subgroups)
{
    int status = sbn__communicator_check(&group->communicator, "the group");
    if (status)
        return status;
    if (group->passes_under_way > 0)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "group: expected no pass of it under way, got %zu; end them first",
                         group->passes_under_way);
    if (group->replica_count > 0 && (!colours || !subgroups))
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: expected one for each of %zu replicas, got NULL",
                         colours ? "groups" : "colours", group->replica_count);
    for (size_t r = 0; r < group->replica_count; ++r)
        if (colours[r] < SBN_NO_COLOUR)
            return sbn__fail(
                SBN_INVALID_ARGUMENT,
                "colours: expected 0 or more, or SBN_NO_COLOUR, got %d for replica %zu", colours[r],
                r);
    return sbn__communicator_check_splits(&group->communicator);
}

/* A group of the replicas of one colour, not yet connected to other ranks. */
static int make_group(const splitting *s, int colour, cl_command_queue *queues, sbn_group **made)
{
    const sbn_group *group = s->group;
    sbn_group_config config = group->config;
    config.queues = queues;
    for (size_t r = 0; r < group->replica_count; ++r)
        if (s->colours[r] == colour)
            queues[config.replicas++] = group->replicas[r].queue;
    const int status = sbn__group_make(&config, made);
    for (size_t r = 0, i = 0; r < group->replica_count && !status; ++r)
        if (s->colours[r] == colour)
            (*made)->replicas[i++].tuning = group->replicas[r].tuning;
    return status;
}

/* This rank's colours, and a group of each. */
static int make_groups(splitting *s)
{
    const size_t replicas = s->group->replica_count;
    cl_command_queue *queues = sbn__allocate(sizeof *queues * replicas);
    int status = SBN_SUCCESS, colour = SBN_NO_COLOUR;
    s->subsets = sbn__allocate(sizeof *s->subsets * replicas);
    s->groups = sbn__allocate(sizeof(sbn_group *) * replicas);
    if (!queues || !s->subsets || !s->groups)
        status = sbn__fail_memory("the parts of a group");
    while (!status && (colour = sbn__next_colour(s->colours, replicas, colour)) >= 0) {
        s->subsets[s->count].colour = colour;
        status = make_group(s, colour, queues, &s->groups[s->count]);
        s->count += !status;
    }
    sbn__free(queues);
    return status;
}

/* Connects the groups to other ranks. After a timeout, if this rank may go on alone, they are alone too. */
static int join_groups(splitting *s, int status)
{
    sbn_communicator *parent = &s->group->communicator;
    sbn_call call = {.operation = "sbn_group_split",
                     .name = "",
                     .code = SBN_CODE_SPLIT,
                     .error = status};
    status = sbn__communicator_split(parent, &call, s->subsets, s->count, 0);
    if (status && parent->alone)
        status = sbn__communicator_split(parent, &call, s->subsets, s->count, 0);
    for (size_t i = 0; i < s->count && !status; ++i) {
        sbn_group *part = s->groups[i];
        part->communicator = s->subsets[i].communicator;
        part->communicator.abort_flag = &part->aborted;
        part->whole = part->communicator.transport.end ? s->group : NULL;
        s->group->parts += part->whole != NULL;
    }
    return status;
}

/* A handle for each replica of a colour, to be destroyed one by one. */
static void give_groups(const splitting *s, sbn_group **subgroups)
{
    for (size_t i = 0; i < s->count; ++i)
        for (size_t r = 0; r < s->group->replica_count; ++r)
            if (s->colours[r] == s->subsets[i].colour) {
                subgroups[r] = s->groups[i];
                ++s->groups[i]->references;
            }
}

int sbn_group_split(sbn_group *group, const int *colours, sbn_group **subgroups)
{
    int status = sbn__enter(group, SBN_HANDLE_GROUP, "group");
    if (status)
        return status;
    splitting s = {.group = group, .colours = colours};
    for (size_t r = 0; subgroups && r < group->replica_count; ++r)
        subgroups[r] = NULL;
    status = check_split(group, colours, subgroups);
    if (!status)
        status = make_groups(&s);
    if (sbn__group_meets(group))
        status = join_groups(&s, status);
    for (size_t i = 0; i < s.count && status; ++i)
        sbn__group_free(s.groups[i]);
    /* A timeout that this rank goes on behind has left a sentence. */
    if (!status) {
        sbn__error_clear();
        give_groups(&s, subgroups);
    }
    sbn__free(s.subsets);
    sbn__free(s.groups);
    return status;
}
