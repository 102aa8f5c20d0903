#include "program/self_test.h"

#include "base/error.h"
#include "base/memory.h"
#include "program/kernel_constants.h"
#include "program/self_test_rules.h"
#include "program/self_test_run.h"
#include "program/self_test_storage.h"

enum { STRIPS = 16, SLICES = 8, ITEMS = SBN_GPU_ITEMS, PLACES = STRIPS * ITEMS };

/* What the kernel gets on the host. */
typedef struct slices {
    cl_uint slots[SLICES * PLACES], arrived[STRIPS], sums[PLACES];
} slices;

static int is_right(const slices *t)
{
    for (cl_uint i = 0; i < PLACES; ++i)
        if (t->sums[i] != (i + 1) * (SLICES * (SLICES + 1) / 2) || t->arrived[i / ITEMS] != 0)
            return 0;
    return 1;
}

/* Work-groups see what others wrote: cl/gpu/self_test_slices.cl. Nothing where the compiler has no such fence. */
static int test_slices(const sbn_program *program)
{
    slices *t = sbn__allocate(sizeof *t);
    if (!t)
        return sbn__fail_memory("a self-test");
    int status = sbn__self_test_run(program, &(sbn_self_test_launch){
                                                 .kernel = "self_test_slices",
                                                 .items = ITEMS,
                                                 .groups = {STRIPS, SLICES},
                                                 .count = 3,
                                                 .buffers = {{t->slots, sizeof t->slots},
                                                             {t->arrived, sizeof t->arrived},
                                                             {t->sums, sizeof t->sums}},
                                             });
    if (status == CL_INVALID_KERNEL_NAME) {
        sbn__error_clear();
        status = SBN_SUCCESS;
    } else if (!status && !is_right(t)) {
        status = sbn__self_test_broken(program, "memory",
                                       "behind a fence and an atomic operation a work-group sees "
                                       "what others wrote before theirs");
    }
    sbn__free(t);
    return status;
}

int sbn__self_test(const sbn_program *program)
{
    const int status = sbn__self_test_arithmetic(program);
    if (status)
        return status;
    if (program->type != SBN_F32)
        return sbn__self_test_storage(program);
    return program->form == SBN_FORM_GPU ? test_slices(program) : SBN_SUCCESS;
}
