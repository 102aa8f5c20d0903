#include "program/program_text.h"

#include <stdio.h>
#include <string.h>

#include "base/activation.h"
#include "program/compiler_options.h"
#include "program/kernel_constants.h"
#include "program/kernels.h"

/* A program's name, and its lists of sources by form: cl/programs. */
typedef struct program_kind {
    const char *name, *lists[2];
    const sbn_format *format;
} program_kind;

static const program_kind kinds[SBN_PROGRAMS] = {
    [SBN_PROGRAM_FORWARD] = {"forward", {"cpu_forward", "gpu_forward"}, &sbn_forward_narrow},
    [SBN_PROGRAM_BACKWARD] = {"backward", {"cpu_backward", "gpu_backward"}, &sbn_backward_narrow},
    [SBN_PROGRAM_APPLY] = {"apply", {"cpu_apply", "gpu_apply"}, NULL},
};

const char *sbn__program_name(int program)
{
    return kinds[program].name;
}

int sbn__program_exists(const sbn_program *variant, int program)
{
    const int part = variant->part;
    /* Whole passes: every fusion changes them. */
    if (variant->form == SBN_FORM_CPU || program == SBN_PROGRAM_APPLY)
        return part == 0;
    const int pass = part & SBN_PART_BACKWARD ? SBN_PROGRAM_BACKWARD : SBN_PROGRAM_FORWARD;
    return part & SBN_PART_REDUCES && program == pass &&
           (!variant->fusion ||
            (pass == SBN_PROGRAM_BACKWARD && sbn__fusion_sums(variant->fusion)));
}

static void add_sources(sbn_sources *sources, int program, sbn_kernel_form form, int fusion)
{
    const char *name = kinds[program].lists[form == SBN_FORM_GPU];
    const sbn_kernel_list *list = sbn_kernel_lists;
    while (strcmp(list->name, name) != 0)
        ++list;
    sources->count = 0;
    for (const sbn_kernel_source *source = list->sources; source->name; ++source) {
        if (fusion && (source->use == SBN_USE_PLAIN ||
                       (source->use == SBN_USE_SUMS && !sbn__fusion_sums(fusion))))
            continue;
        sources->names[sources->count] = source->name;
        sources->texts[sources->count] = source->text;
        sources->lengths[sources->count++] = source->length;
    }
}

void sbn__program_text(sbn_program_text *text, const sbn_program *variant, int program)
{
    const int fusion = variant->fusion, part = variant->part;
    char summation[512], sizes[768], of_pass[512] = "", own[256] = "";
    const sbn_format *format = kinds[program].format;
    const sbn_activation activation = sbn__fusion_activation(fusion);
    sbn__summation_macros(summation, sizeof summation);
    sbn__kernel_macros(variant->form, sizes, sizeof sizes);
    add_sources(&text->sources, program, variant->form, fusion);
    snprintf(own, sizeof own,
             "-D STORES_F16=%d -D STORES_BF16=%d -D HALF_BY_BITS=%d -D WITHOUT_FENCE=%d "
             "-D RESIDUAL=%d -D RELU=%d -D LEAKY_RELU=%d -D FROM_OUTPUT=%d -D VIEWS=%d "
             "-D CHANNELS_LAST=%d ",
             variant->type == SBN_F16, variant->type == SBN_BF16,
             (variant->without & SBN_WITHOUT_HALF_FUNCTIONS) != 0,
             (variant->without & SBN_WITHOUT_FENCE) != 0 ||
                 variant->compiler == SBN_COMPILER_UNFENCED,
             sbn__fusion_residual(fusion), activation == SBN_RELU, activation == SBN_LEAKY_RELU,
             sbn__fusion_from_output(fusion), (part & SBN_PART_VIEWS) != 0,
             (part & SBN_PART_CHANNELS_LAST) != 0);
    if (format)
        sbn__format_macros(format, of_pass, sizeof of_pass);
    /* The library's macros come last, because the later of two definitions holds. */
    snprintf(text->options, sizeof text->options, "-cl-std=CL1.2 %s %s %s%s%s%s",
             sbn__compiler_options(variant->compiler, program, fusion, variant->options),
             variant->options, summation, sizes, own, of_pass);
}
