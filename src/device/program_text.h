/*
 * The source texts and options of each program. The library compiles them on a device;
 * tools/offline compiles the same without one.
 */
#ifndef SBN_DEVICE_PROGRAM_TEXT_H
#define SBN_DEVICE_PROGRAM_TEXT_H

#include <syncbn/group.h>

#include "device/compiler_options.h"
#include "device/opencl.h"

/* Step 1 of each pass in each format, and all the rest. */
enum {
    SBN_PROGRAM_FORWARD_NARROW,
    SBN_PROGRAM_FORWARD_WIDE,
    SBN_PROGRAM_BACKWARD_NARROW,
    SBN_PROGRAM_BACKWARD_WIDE,
    SBN_PROGRAM_APPLY,
    SBN_PROGRAMS
};

/* Step 1 of a pass, in the narrow or the wide format. */
static inline int sbn__program_of(int is_backward, int is_wide)
{
    return SBN_PROGRAM_FORWARD_NARROW + 2 * is_backward + is_wide;
}

/* Texts that are compiled together. */
enum { SBN_MAX_SOURCES = 48 };

typedef struct sbn_sources {
    const char *texts[SBN_MAX_SOURCES], *names[SBN_MAX_SOURCES]; /* names: below cl/ */
    size_t lengths[SBN_MAX_SOURCES];
    cl_uint count;
} sbn_sources;

typedef struct sbn_program_text {
    sbn_sources sources;
    char options[4096];
} sbn_program_text;

/* "forward_narrow" */
const char *sbn__program_name(int program);

/*
 * 1 if a variant has such a program. Those with a fusion have only programs with kernels that differ
 * by it; those for views have step 1 alone.
 */
int sbn__program_exists(int program, sbn_kernel_form form, int fusion, int views);

/*
 * `fusion`, `views`, `half_by_bits`: as in sbn_program. `compiler`: of the device. `more`: the
 * caller's options, which precede the library's.
 */
int sbn__program_text(sbn_program_text *text, int program, sbn_kernel_form form, sbn_type type,
                      int fusion, int views, int half_by_bits, sbn_compiler compiler,
                      const char *more);

#endif
