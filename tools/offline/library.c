/*
 * What the library does with a GPU, asked without one:
 *
 *   library kernels FOLDER [EXTENSION SUB_GROUP CAPABILITY]
 *                         writes each program of both forms as FOLDER/FORM_NAME.cl, to be read and compiled
 *                         alone: the library's macros, then its files, each named; other options as
 *                         FOLDER/FORM_NAME.options. NAME is "backward", "last_backward" for channels last
 *                         and, of the variants, "backward+relu"; for a device with the extension, this least
 *                         sub-group and compute capability, or for any
 *   library plans         prints for each line "NAME UNITS CACHE COUNTS PROBLEM" of standard input how the
 *                         problem (tools/check/problem.h) is launched on this device, forward and backward, a
 *                         line for each kernel; COUNTS is 1 if the device's reductions count slices
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/activation.h"
#include "check/problem.h"
#include "exact/accumulator.h"
#include "plan/gpu.h"
#include "plan/launch_plan.h"
#include "program/compiler_options.h"
#include "program/program_text.h"

typedef struct variant {
    const char *name;
    sbn_activation activation;
    int residual, from_output, views;
    sbn_type type;
} variant;

/* Those that differ in what they load; a leaky ReLU has a factor more than a ReLU. */
static const variant variants[] = {
    {"", SBN_IDENTITY, 0, 0, 0, SBN_F32},           {"+relu", SBN_RELU, 0, 0, 0, SBN_F32},
    {"+residual+relu", SBN_RELU, 1, 0, 0, SBN_F32}, {"+output", SBN_LEAKY_RELU, 0, 1, 0, SBN_F32},
    {"+views", SBN_IDENTITY, 0, 0, 1, SBN_F32},     {"+f16", SBN_IDENTITY, 0, 0, 0, SBN_F16},
    {"+bf16", SBN_IDENTITY, 0, 0, 0, SBN_BF16},
};

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "library: %s: %s\n", what, why);
    return 1;
}

/* Macros as lines of the text, other options as words of theirs. */
static void write_options(FILE *text, FILE *others, char *options)
{
    char *rest;
    for (char *word = strtok_r(options, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (strcmp(word, "-D") != 0 && *word == '-') {
            fprintf(others, "%s\n", word);
        } else if (value) {
            *value = '\0';
            fprintf(text, "#define %s %s\n", word, value + 1);
        }
    }
}

static FILE *open_in(const char *folder, sbn_kernel_form form, const char *name, const char *ending)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s_%s.%s", folder, form == SBN_FORM_CPU ? "cpu" : "gpu", name,
             ending);
    FILE *file = fopen(path, "w");
    if (!file)
        perror(path);
    return file;
}

/* A program of a variant; `last`: its reductions are those of channels last. */
static int write_text(const char *folder, sbn_compiler compiler, sbn_kernel_form form, int program,
                      const variant *v, int last)
{
    const int is_whole = form == SBN_FORM_CPU || program == SBN_PROGRAM_APPLY;
    const sbn_program described = {
        .form = form,
        .type = v->type,
        .fusion = sbn__fusion_of(v->activation, v->residual, v->from_output),
        .part = is_whole ? 0
                         : sbn__part_of_reductions(program == SBN_PROGRAM_BACKWARD, last, v->views),
        .options = "",
        .compiler = compiler,
    };
    sbn_program_text text;
    char name[64];
    if ((is_whole && (last || v->views)) || !sbn__program_exists(&described, program))
        return 0;
    snprintf(name, sizeof name, "%s%s%s", last ? "last_" : "", sbn__program_name(program), v->name);
    sbn__program_text(&text, &described, program);
    FILE *source = open_in(folder, form, name, "cl"),
         *others = open_in(folder, form, name, "options");
    if (!source || !others)
        return 1;
    write_options(source, others, text.options);
    for (cl_uint i = 0; i < text.sources.count; ++i) {
        const char *file = text.sources.names[i];
        fprintf(source, "\n// cl/%s\n#line 1 \"cl/%s\"\n", file, file);
        fwrite(text.sources.texts[i], 1, text.sources.lengths[i], source);
    }
    int failed = ferror(source) | ferror(others);
    failed |= fclose(source) | fclose(others);
    return failed ? fail("kernels", "cannot be written") : 0;
}

static int write_all(const char *folder, sbn_compiler compiler)
{
    int failed = 0;
    for (int form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form)
        for (size_t i = 0; i < sizeof variants / sizeof *variants; ++i)
            for (int program = 0; program < SBN_PROGRAMS; ++program)
                for (int last = 0; last < 2 && !failed; ++last)
                    failed = write_text(folder, compiler, (sbn_kernel_form)form, program,
                                        &variants[i], last);
    return failed;
}

static int shape_of(sbn_shape *shape, const char *line)
{
    problem p;
    char error[256];
    if (problem_parse(line, &p, error, sizeof error))
        return fail(line, error);
    sbn_shard shard = {.size = sizeof shard,
                       .dims = 2 + p.space_dims,
                       .shape = {p.samples, p.channels, p.space[0], p.space[1], p.space[2]}};
    return sbn__shape_of(shape, &shard, p.channels, p.layout, p.type, line)
               ? fail(line, sbn_last_error())
               : 0;
}

/*
 * What a pass of a replica that is alone enqueues (src/pass/steps.c): the reduction, which may add its
 * slices and combine, else a command that adds slices where there are many, and one that combines; the apply.
 */
static unsigned commands_of(const sbn_reduce_plan *reduce)
{
    return reduce->sums_up ? 2 : 3 + (unsigned)reduce->adds_slices;
}

/* A line for each kernel of a pass, and one for the pass: its name, its work-groups, what each of them takes. */
static void print_plans(const char *device, const char *line, const sbn_shape *shape,
                        const sbn_replica *replica)
{
    const sbn_format *formats[] = {&sbn_forward_narrow, &sbn_backward_narrow};
    for (int is_backward = 0; is_backward < 2; ++is_backward) {
        const size_t length = sbn__accumulator_length(formats[is_backward]);
        const sbn_reduce_plan reduce = sbn__plan_reduce(shape, replica, length);
        printf("%s %s %s groups=%zu strip=%u slices=%u per_slice=%u\n", device, line,
               sbn__kernel_name(reduce.reduction, is_backward),
               reduce.work_groups[0] * reduce.work_groups[1], reduce.strip, reduce.slices,
               reduce.per_slice);
        printf("%s %s %s_pass commands=%u adds=%d tails=%d\n", device, line,
               is_backward ? "backward" : "forward", commands_of(&reduce), reduce.adds_slices,
               reduce.sums_up ? 1 + (reduce.slices > 1) : 0);
        const sbn_apply_plan apply = sbn__plan_apply(shape, replica);
        size_t groups = 1;
        for (cl_uint i = 0; i < apply.dimensions; ++i)
            groups *= apply.work_groups[i];
        printf("%s %s %s groups=%zu length=%llu per_work_group=%u\n", device, line,
               sbn__kernel_name(apply.walk, is_backward), groups, (unsigned long long)apply.length,
               apply.per_work_group);
    }
}

static int print_all(void)
{
    char line[PROBLEM_LINE + 128], device[64], word[PROBLEM_LINE];
    while (fgets(line, sizeof line, stdin)) {
        sbn_shape shape;
        sbn_replica replica = {.form = SBN_FORM_GPU};
        unsigned long long cache;
        if (sscanf(line, "%63s %zu %llu %d %1023s", device, &replica.compute_units, &cache,
                   &replica.counts_slices, word) != 5)
            return fail(line, "expected \"NAME UNITS CACHE COUNTS PROBLEM\"");
        replica.cache_size = cache;
        if (shape_of(&shape, word))
            return 1;
        print_plans(device, word, &shape, &replica);
    }
    return ferror(stdin) ? fail("plans", "cannot be read") : 0;
}

int main(int argc, char **argv)
{
    const int is_for_device = argc == 6;
    if ((argc == 3 || is_for_device) && strcmp(argv[1], "kernels") == 0)
        return write_all(argv[2], is_for_device
                                      ? sbn__compiler_by(argv[3], strtoul(argv[4], NULL, 10),
                                                         (cl_uint)strtoul(argv[5], NULL, 10))
                                      : SBN_COMPILER_PLAIN);
    if (argc == 2 && strcmp(argv[1], "plans") == 0)
        return print_all();
    return fail("usage",
                "library kernels FOLDER [EXTENSION SUB_GROUP CAPABILITY] | library plans < LINES");
}
