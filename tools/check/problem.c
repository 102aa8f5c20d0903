#include "check/problem.h"

#include <string.h>

int problem_is_fused(const problem *p)
{
    return p->activation != SBN_IDENTITY || p->residual;
}

problem problem_alone(const problem *p)
{
    problem alone = *p;
    alone.type = SBN_F32;
    alone.activation = SBN_IDENTITY;
    alone.residual = alone.from_output = alone.in_place = 0;
    alone.gap = 0;
    alone.memory = PROBLEM_BUFFERS;
    alone.begin = alone.stored = alone.given = alone.branch = 0;
    return alone;
}

void problem_set_replicas(problem *p, size_t replicas)
{
    if (p->has_split && p->replicas != replicas) {
        p->has_split = p->has_sizes = 0;
        memset(p->split, 0, sizeof p->split);
        memset(p->sizes, 0, sizeof p->sizes);
    }
    p->replicas = replicas;
}
