#include "support/programs_kept.h"

#include "program/programs.h"
#include "support/fixture.h"

enum { MOST = 128 };

static sbn_program *kept[MOST];
static size_t count;

/* As the linker names them. */
int __real_sbn__program_acquire(const sbn_program *wanted, const sbn_building *how,
                                sbn_program **program);
int __wrap_sbn__program_acquire(const sbn_program *wanted, const sbn_building *how,
                                sbn_program **program);

int __wrap_sbn__program_acquire(const sbn_program *wanted, const sbn_building *how,
                                sbn_program **program)
{
    size_t i = 0;
    const int status = __real_sbn__program_acquire(wanted, how, program);
    if (status)
        return status;
    while (i < count && kept[i] != *program)
        ++i;
    if (i == count) {
        must(count == MOST, "room for programs");
        must(__real_sbn__program_acquire(wanted, how, &kept[count++]), "keeping a program");
    }
    return SBN_SUCCESS;
}

void programs_release(void)
{
    while (count > 0)
        sbn__program_release(kept[--count]);
}
