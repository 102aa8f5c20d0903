#include "program/self_test.h"

#include "program/kernel_constants.h"
#include "program/self_test_rules.h"
#include "program/self_test_run.h"
#include "program/self_test_slices.h"
#include "program/self_test_storage.h"

static int test_arithmetic(const sbn_program *program)
{
    sbn_self_test_data t;
    char broken[256];
    sbn__self_test_fill(&t);
    const int status =
        sbn__self_test_run(program,
                           &(sbn_self_test_launch){
                               .kernel = "self_test",
                               .items = (size_t)sbn__form_sizes(program->form)->self_test_items,
                               .groups = {1, 1},
                               .count = 5,
                               .buffers = {{t.reals, sizeof t.reals},
                                           {t.integers, sizeof t.integers},
                                           {&t.terms, sizeof t.terms},
                                           {t.real_results, sizeof t.real_results},
                                           {t.integer_results, sizeof t.integer_results}},
                           });
    if (status || sbn__self_test_judge(&t, broken, sizeof broken))
        return status;
    return sbn__self_test_broken(program, "arithmetic", broken);
}

int sbn__self_test(const sbn_program *program)
{
    int status = test_arithmetic(program);
    if (!status && program->type != SBN_F32)
        status = sbn__self_test_storage(program);
    if (!status && program->type == SBN_F32 && program->form == SBN_FORM_GPU)
        status = sbn__self_test_slices(program);
    return status;
}
