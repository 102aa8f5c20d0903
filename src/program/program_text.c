#include "program/program_text.h"

#include <stdio.h>
#include <string.h>

#include "base/activation.h"
#include "base/error.h"
#include "program/compiler_options.h"
#include "program/kernel_constants.h"
#include "program/kernels.h"

/*
 * The sources of a form's programs, by name. The file of a pass precedes the kernels that both passes
 * share; in the GPU form, a kind of planes precedes the kernel of both kinds. The CPU form has kernels
 * for a whole pass, too.
 */
static const char *const cpu_reduce_sources[] = {
    "common/common.cl",
    "common/storage.cl",
    "common/fusion.cl",
    "common/inversion.cl",
    "common/pivots.cl",
    "common/accumulator.cl",
    "cpu/accumulator_doubles.cl",
    "common/channels.cl",
    "common/rounding.cl",
    "common/integers_wide.cl",
    "common/integers_narrow.cl",
    "common/statistics.cl",
    "common/channel_rows.cl",
    "common/combine.cl",
    "common/combine_forward.cl",
    "common/combine_backward.cl",
    "common/coefficients.cl",
    "common/coefficients_forward.cl",
    "common/coefficients_backward.cl",
    "cpu/batches.cl",
    "cpu/strips.cl",
    "cpu/rows_of_one.cl",
    "cpu/elements_forward.cl",
    "cpu/sums_forward.cl",
    "cpu/reduce_pivots.cl",
    "cpu/reduce_nchw.cl",
    "cpu/reduce_nhwc.cl",
    "cpu/elements_backward.cl",
    "cpu/sums_backward.cl",
    "cpu/reduce_pivots.cl",
    "cpu/reduce_nchw.cl",
    "cpu/reduce_nhwc.cl",
    "common/fusion_forward.cl",
    "common/fusion_backward.cl",
    "cpu/apply_walk.cl",
    "cpu/walk_forward.cl",
    "cpu/walk_backward.cl",
    "common/store_gradients.cl",
    "cpu/whole_nchw.cl",
    "cpu/forward_whole.cl",
    "cpu/backward_whole.cl",
    "cpu/whole_nhwc.cl",
    "cpu/forward_whole.cl",
    "cpu/backward_whole.cl",
};
static const char *const cpu_apply_sources[] = {
    "common/common.cl",
    "common/storage.cl",
    "common/fusion.cl",
    "common/inversion.cl",
    "common/coefficients.cl",
    "common/coefficients_forward.cl",
    "common/coefficients_backward.cl",
    "common/fusion_forward.cl",
    "common/fusion_backward.cl",
    "cpu/apply_walk.cl",
    "cpu/walk_forward.cl",
    "cpu/walk_backward.cl",
    "cpu/add_slices.cl",
    "common/store_gradients.cl",
    "common/channels.cl",
    "common/self_test.cl",
    "common/self_test_storage.cl",
};
static const char *const gpu_reduce_sources[] = {
    "common/common.cl",          "common/storage.cl",         "common/fusion.cl",
    "common/inversion.cl",       "common/pivots.cl",          "common/accumulator.cl",
    "common/channels.cl",        "common/rounding.cl",        "common/integers_wide.cl",
    "common/integers_narrow.cl", "common/statistics.cl",      "common/channel_rows.cl",
    "common/combine.cl",         "common/combine_forward.cl", "common/combine_backward.cl",
    "gpu/work_group.cl",         "gpu/sums_forward.cl",       "gpu/block_flags.cl",
    "gpu/large_planes.cl",       "gpu/reduce_planes.cl",      "gpu/small_planes.cl",
    "gpu/reduce_planes.cl",      "gpu/reduce_columns.cl",     "gpu/reduce_rows.cl",
    "gpu/sums_backward.cl",      "gpu/block_flags.cl",        "gpu/large_planes.cl",
    "gpu/reduce_planes.cl",      "gpu/small_planes.cl",       "gpu/reduce_planes.cl",
    "gpu/reduce_columns.cl",     "gpu/reduce_rows.cl",
};
static const char *const gpu_apply_sources[] = {
    "common/common.cl",
    "common/storage.cl",
    "common/fusion.cl",
    "common/inversion.cl",
    "common/coefficients.cl",
    "common/coefficients_forward.cl",
    "common/coefficients_backward.cl",
    "common/fusion_forward.cl",
    "common/fusion_backward.cl",
    "gpu/apply.cl",
    "gpu/forward_apply.cl",
    "gpu/backward_apply.cl",
    "gpu/add_slices.cl",
    "common/store_gradients.cl",
    "common/channels.cl",
    "common/self_test.cl",
    "common/self_test_storage.cl",
};

/* With a fusion, which the forward pass's step 1 does not know. */
static const char *const gpu_fused_reduce_sources[] = {
    "common/common.cl",
    "common/storage.cl",
    "common/fusion.cl",
    "common/inversion.cl",
    "common/pivots.cl",
    "common/accumulator.cl",
    "common/coefficients_forward.cl",
    "gpu/work_group.cl",
    "gpu/sums_backward.cl",
    "gpu/block_flags.cl",
    "gpu/large_planes.cl",
    "gpu/reduce_planes.cl",
    "gpu/small_planes.cl",
    "gpu/reduce_planes.cl",
    "gpu/reduce_columns.cl",
    "gpu/reduce_rows.cl",
};

/* Of step 3 a fusion changes what the first of its sources hold, to apply_backward.cl. */
enum { FUSED_APPLY_SOURCES = 12 };

#define LIST(names) \
    { \
        (names), sizeof(names) / sizeof *(names) \
    }

typedef struct source_list {
    const char *const *names;
    size_t count;
} source_list;

/* Characters; sbn_program_text has room for them and the library's own. */
#define MAX_BUILD_OPTIONS 1000

static const sbn_kernel_source *find_source(const char *name)
{
    const sbn_kernel_source *source = sbn_kernel_sources;
    while (strcmp(source->name, name) != 0)
        ++source;
    return source;
}

static void add_sources(sbn_sources *sources, int program, sbn_kernel_form form, int fusion)
{
    /* Kernels for whole passes need all of step 1. */
    static const source_list reduce[2][2] = {{LIST(cpu_reduce_sources), LIST(gpu_reduce_sources)},
                                             {LIST(cpu_reduce_sources),
                                              LIST(gpu_fused_reduce_sources)}};
    static const source_list apply[2][2] = {{LIST(cpu_apply_sources), LIST(gpu_apply_sources)},
                                            {{cpu_apply_sources, FUSED_APPLY_SOURCES},
                                             {gpu_apply_sources, FUSED_APPLY_SOURCES}}};
    const int is_gpu = form == SBN_FORM_GPU, is_fused = fusion != 0;
    const source_list *list = program == SBN_PROGRAM_APPLY ? &apply[is_fused][is_gpu]
                                                           : &reduce[is_fused][is_gpu];
    sources->count = 0;
    for (size_t i = 0; i < list->count; ++i) {
        const sbn_kernel_source *source = find_source(list->names[i]);
        sources->texts[sources->count] = source->text;
        sources->lengths[sources->count++] = source->length;
    }
}

int sbn__program_text(sbn_program_text *text, int program, sbn_kernel_form form, sbn_type type,
                      int fusion, int views, int half_by_bits, sbn_compiler compiler,
                      const char *more)
{
    char summation[512], sizes[768], forward[512] = "", backward[512] = "", own[160] = "";
    sbn__summation_macros(summation, sizeof summation);
    sbn__kernel_macros(form, sizes, sizeof sizes);
    const int format = program == SBN_PROGRAM_WIDE ? SBN_WIDE : SBN_NARROW;
    const sbn_activation activation = sbn__fusion_activation(fusion);
    add_sources(&text->sources, program, form, fusion);
    snprintf(own, sizeof own,
             "-D WIDE=%d -D STORES_F16=%d -D STORES_BF16=%d -D HALF_BY_BITS=%d "
             "-D RESIDUAL=%d -D RELU=%d -D LEAKY_RELU=%d -D FROM_OUTPUT=%d -D VIEWS=%d ",
             format, type == SBN_F16, type == SBN_BF16, half_by_bits, sbn__fusion_residual(fusion),
             activation == SBN_RELU, activation == SBN_LEAKY_RELU, sbn__fusion_from_output(fusion),
             views);
    if (program != SBN_PROGRAM_APPLY) {
        sbn__format_macros(sbn__forward_format(format), "FORWARD", forward, sizeof forward);
        sbn__format_macros(sbn__backward_format(format), "BACKWARD", backward, sizeof backward);
    }
    /* The library's macros come last, because the later of two definitions holds. */
    const int length = snprintf(text->options, sizeof text->options,
                                "-cl-std=CL1.2 %s %s %s%s%s%s%s",
                                sbn__compiler_options(compiler, program, fusion, more), more,
                                summation, sizes, own, forward, backward);
    if (strlen(more) > MAX_BUILD_OPTIONS || length < 0 || (size_t)length >= sizeof text->options)
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "build_options: expected at most %d characters, got %zu",
                         MAX_BUILD_OPTIONS, strlen(more));
    return SBN_SUCCESS;
}
