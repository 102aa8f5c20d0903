/* The scene of contenders. */
#include "bench/contender.h"

#include "group/group.h"

int scene_open(scene *s, queues *q, const problem *p)
{
    sbn_group *group;
    cl_command_queue *queue;
    s->p = *p;
    problem_set_replicas(&s->p, 1);
    s->p.passes = PASS_FORWARD | PASS_BACKWARD | PASS_EVALUATE;
    int status = placement_make(&s->p, 1, &s->g);
    status = status ? status : inputs_make(&s->p, &s->g, &s->in);
    if (status)
        return job_failed_here(s->error, "making inputs", status);
    status = queues_group(q, &s->p, 1, &group, &queue);
    if (status)
        return job_failed(s->error, "making the group", status);
    s->replica = group->replicas;
    s->job = (job){.p = &s->p, .g = &s->g, .in = &s->in, .out = &s->right, .error = s->error};
    status = job_open(&s->job, group, queue);
    return status ? status : job_finish(&s->job);
}

void scene_close(scene *s)
{
    if (s->program)
        clReleaseProgram(s->program);
    job_close(&s->job);
    outputs_free(&s->right);
    inputs_free(&s->in);
    placement_free(&s->g);
}
