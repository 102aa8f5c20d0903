/*
 * Tuned numbers (src/device/tuning.h) as text, of which any mistake is refused; no number, however extreme, makes a
 * plan that leaves something out; plans of both forms, which no result shows; and the largest shape. Which compiler
 * options (src/program/build_options.h) are refused: each by name with its reason, wherever it stands.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "device/tuning.h"
#include "plan/launch_plan.h"
#include "plan/whole.h"
#include "program/build_options.h"
#include "support/fixture.h"

static void parsed(void)
{
    static const char *const wrong[] = {"groups", "groups=", "groups=0", "groups=10001",
                                        "groups=-1", "groups=4294967396",
                                        "groups=18446744073709551716",
                                        /* Right numbers with something wrong around them. */
                                        "groups=1 ", "groups=1,groups=1", "groups=1,", ",groups=1",
                                        "groups=1;", "groups2=1", "groupz=1", "=1"};
    char sentence[256], text[SBN_TUNING_TEXT];
    sbn_tuning tuning;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const int good = sbn__tuning_parse(wrong[i], &tuning, sentence, sizeof sentence);
        tap_ok(!good && strstr(sentence, "each once and from 1 to 10000, got \"") &&
                   memcmp(&tuning, &(sbn_tuning){{0}}, sizeof tuning) == 0,
               "\"%s\" is refused: %s", wrong[i], sentence);
    }
    sbn__tuning_parse("x", &tuning, sentence, 60);
    tap_ok(strlen(sentence) == 59, "a sentence is cut: %s", sentence);
    tap_ok(sbn__tuning_parse("apply=10000,cache=1,groups=100", &tuning, sentence,
                             sizeof sentence) &&
               tuning.percent[SBN_TUNED_APPLY] == 10000 && tuning.percent[SBN_TUNED_CACHE] == 1,
           "any order");
    sbn__tuning_print(&tuning, text);
    tap_ok(strcmp(text, "apply=10000,cache=1") == 0, "printed: %s", text);
    tap_ok(sbn__tuned(&tuning, SBN_TUNED_APPLY, 199) == 19900 &&
               sbn__tuned(&tuning, SBN_TUNED_CACHE, 1099) == 10 &&
               sbn__tuned(&tuning, SBN_TUNED_CACHE, 3) == 1 &&
               sbn__tuned(&tuning, SBN_TUNED_REDUCE, 3) == 3,
           "percent of what is planned, 1 at least");
    tap_ok(sbn__tuning_parse("", &tuning, sentence, sizeof sentence) &&
               sbn__tuned(&tuning, SBN_TUNED_APPLY, 7) == 7,
           "nothing: the plan's");
}

/* Work-groups and what each takes cover the shape, and no more than a device counts. */
static int covers(const sbn_shape *shape, const sbn_replica *replica)
{
    const sbn_reduce_plan reduce = sbn__plan_reduce(shape, replica, 8);
    const sbn_apply_plan apply = sbn__plan_apply(shape, replica);
    const int by_samples = reduce.reduction == SBN_REDUCE_NCHW && reduce.strip > 1;
    const size_t units = by_samples ? shape->samples : shape->channel_blocks;
    int good = reduce.strip * reduce.work_groups[0] >= shape->channels &&
               (size_t)reduce.slices * reduce.per_slice >= units && reduce.slices <= 256 &&
               (size_t)(reduce.slices - 1) * reduce.per_slice < units &&
               reduce.work_groups[1] == reduce.slices;
    const size_t width = shape->channels * (shape->layout == SBN_LAYOUT_NCHW ? shape->plane : 1);
    if (apply.walk == SBN_WALK_ROWS)
        good = good && apply.length * width == shape->elements &&
               apply.work_groups[1] * apply.per_work_group >= apply.length;
    else if (apply.walk == SBN_WALK_FLAT)
        good = good && apply.length * apply.work_groups[1] == shape->elements &&
               apply.work_groups[0] * apply.per_work_group >= apply.length;
    else
        good = good && apply.work_groups[0] == shape->channels &&
               apply.work_groups[1] * apply.per_work_group >= shape->plane &&
               apply.work_groups[2] == shape->samples;
    return good && apply.work_groups[1] <= 65535 && apply.per_work_group > 0;
}

static sbn_shape shape_of(const size_t extents[3], sbn_layout layout)
{
    sbn_shape shape;
    const sbn_shard shard = SHARD_WITH(.dims = 3, .shape = {extents[0], extents[1], extents[2]});
    must(sbn__shape_of(&shape, &shard, extents[1], layout, SBN_F32, "shape"), "sbn__shape_of");
    return shape;
}

/* A reduction's work-groups, and of how many channels and blocks each; an apply kernel's; a whole pass's channels. */
static void print_plans(char *text, size_t size, const sbn_shape *shape, const sbn_replica *replica)
{
    static const char walks[] =
        {[SBN_WALK_FLAT] = 'f', [SBN_WALK_ROWS] = 'r', [SBN_WALK_PLANES] = 'p'};
    const sbn_reduce_plan reduce = sbn__plan_reduce(shape, replica, 8);
    const sbn_apply_plan apply = sbn__plan_apply(shape, replica);
    const size_t *groups = apply.work_groups;
    snprintf(text, size, "%zux%zu of %ux%u%s%s; %c %zux%zux%zu of %u%s; %zu", reduce.work_groups[0],
             reduce.work_groups[1], reduce.strip, reduce.per_slice,
             reduce.adds_slices ? ", added" : "", reduce.sums_up ? ", tail" : "", walks[apply.walk],
             groups[0], apply.dimensions > 1 ? groups[1] : 0, apply.dimensions == 3 ? groups[2] : 1,
             apply.per_work_group, apply.non_temporal ? ", streamed" : "",
             sbn__plan_whole(shape, replica, 2));
}

/* Plans on CPUs of 4 and 64 units, GPUs of 132 and 304, and an old one that counts no slices. */
static void recorded(void)
{
    static const char *const rows[] = {
        "CPU 32x64x12544 first: 64x4 of 1x512; f 392x1x1 of 65536, streamed; 1",
        "CPU 64x256x196 first: 4x3 of 64x22; f 49x1x1 of 65536, streamed; 4",
        "CPU 64x512x49 first: 8x1 of 64x64; f 25x1x1 of 65536; 16",
        "GPU 64x512x49 first: 32x8 of 16x8, tail; r 25x16x1 of 4; 0",
        "GPU 2x256x784 first: 256x1 of 1x16, tail; r 196x1x1 of 4; 0",
        "CPU 8x6x5000 first: 2x8 of 3x1; f 16x1x1 of 15040; 0",
        "GPU 8x6x5000 first: 6x5 of 1x32, tail; r 30x2x1 of 4; 0",
        "GPU 2x3x1000003 first: 3x163 of 1x48, tail; p 3x109x2 of 9216; 0",
        "CPU 128x21x441 first: 1x16 of 21x8; f 19x1x1 of 65536; 0",
        "CPU 128x72x441 first: 3x15 of 32x9; f 63x1x1 of 65536, streamed; 0",
        "CPU 16x96x784 first: 6x3 of 16x6; f 19x1x1 of 65536; 4",
        "CPU 16x40x256 first: 1x8 of 40x2; f 16x1x1 of 10240; 1",
        "GPU 16x40x256 first: 3x8 of 16x2, tail; r 10x4x1 of 4; 0",
        "GPU 8x65537x21845 first: 65537x6 of 1x128, tail; r 1398102x1x1 of 8; 0",
        "CPU 128x1024x16 first: 16x1 of 64x128; f 32x1x1 of 65536; 32",
        "CPU 10x96x4096 first: 24x2 of 4x8; f 60x1x1 of 65536, streamed; 3",
        "CPU 64x64x48 first: 1x8 of 64x8; f 16x1x1 of 12288; 16",
        "CPU 1x8x16640 first: 8x3 of 1x32; f 16x1x1 of 8320; 1",
        "CPU 4x3x48 first: 3x1 of 1x16; f 9x1x1 of 64; 3",
        "CPU 32x56x1001 first: 4x4 of 16x8; f 28x1x1 of 65536; 16",
        "GPU 64x1024x400 first: 1024x1 of 1x128, tail; r 400x8x1 of 8; 0",
        "GPU 37x8448x64 first: 528x2 of 16x20, tail; r 528x5x1 of 8; 0",
        "GPU 2x64x4096 first: 64x1 of 1x32, tail; p 64x1x2 of 4096; 0",
        "old 64x1024x400 first: 1024x1 of 1x128, tail; r 400x8x1 of 8; 0",
        "old 12x6x5000 first: 6x4 of 1x64, added; r 30x3x1 of 4; 0",
        "CPU 64x256x196 last: 1x8 of 256x8; r 1x16x1 of 784, streamed; 0",
        "CPU 2x256x784 last: 2x4 of 128x2; r 1x16x1 of 98; 64",
        "CPU 2x2048x49 last: 8x1 of 256x2; r 1x17x1 of 6; 512",
        "CPU 65536x256x1 last: 1x20 of 256x3277; r 1x64x1 of 1024, streamed; 0",
        "GPU 65536x256x1 last: 8x64 of 32x1024, added; r 1x2048x1 of 32; 0",
        "MI 51000x256x1 last: 8x57 of 32x896, added; r 1x1594x1 of 32; 0",
        "GPU 32768x544x1 last: 17x32 of 32x1024, tail; r 1x2731x1 of 12; 0",
        "CPU 1024x32x1 last: 1x4 of 32x256; r 1x16x1 of 64; 0",
        "CPU 2x512x16 last: 4x1 of 128x2; r 1x16x1 of 2; 512",
        "CPU 2048x512x1 last: 1x8 of 512x256; r 1x16x1 of 128; 128",
        "CPU 2x300x16 last: 4x1 of 80x2; r 1x16x1 of 2; 300",
        "CPU 10x96x8192 first: 48x2 of 2x8; f 120x1x1 of 65536, streamed; 1",
        "big 64x512x49 last: 4x16 of 128x4; r 1x262x1 of 12; 0",
        "GPU 1152x1024x1 last: 32x9 of 32x128, tail; r 1x288x1 of 4; 0",
        "GPU 1x800000000x2 first: 50000000x1 of 16x4, tail; p 800000000x1x1 of 1024; 0",
        "GPU 1x1500000000x1 last: 46875000x1 of 32x128, tail; r 1464844x1x1 of 1; 0",
    };
    const sbn_replica replicas[] = {
        {.form = SBN_FORM_CPU, .compute_units = 4, .cache_size = 32 << 20},
        {.form = SBN_FORM_GPU, .compute_units = 132, .cache_size = 50 << 20, .counts_slices = 1},
        {.form = SBN_FORM_GPU, .compute_units = 132, .cache_size = 50 << 20},
        {.form = SBN_FORM_GPU, .compute_units = 304, .counts_slices = 1},
        {.form = SBN_FORM_CPU, .compute_units = 64, .cache_size = 32 << 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        size_t extents[3];
        char form[4], layout[6], text[128];
        sscanf(rows[i], "%3s %zux%zux%zu %5[a-z]", form, &extents[0], &extents[1], &extents[2],
               layout);
        const sbn_shape shape = shape_of(extents,
                                         *layout == 'l' ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW);
        print_plans(text, sizeof text, &shape, &replicas[strcspn("CGoMb", form)]);
        tap_ok(strcmp(text, strchr(rows[i], ':') + 2) == 0, "%s %s %s", form, layout, text);
    }
}

/* One number is tuned, or all are; 100 changes nothing. */
static void plans(void)
{
    static const size_t shapes[][3] = {{32, 64, 12544}, {32, 2048, 49}, {1024, 1024, 1},
                                       {1, 3, 1000003}, {2, 5, 17},     {1, 1, 1},
                                       {700000, 3, 1},  {3, 70000, 2}};
    static const uint32_t percents[] = {100, 1, 3, 50, 200, 10000};
    static const size_t units[] = {1, 2, 304};
    enum { PERCENTS = sizeof percents / sizeof *percents };
    int wrong = 0, differ = 0, count = 0;
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; ++i) {
        const sbn_shape shape = shape_of(shapes[i / 2], i % 2 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW);
        for (size_t k = 0; k < 2 * sizeof units / sizeof *units; ++k) {
            sbn_replica replica = {.compute_units = units[k / 2], .cache_size = 1 << 24};
            replica.form = k % 2 ? SBN_FORM_GPU : SBN_FORM_CPU;
            const sbn_reduce_plan reduce = sbn__plan_reduce(&shape, &replica, 8);
            const sbn_apply_plan apply = sbn__plan_apply(&shape, &replica);
            for (int n = 0; n < (SBN_TUNED + 1) * PERCENTS; ++n, ++count) {
                for (int t = 0; t < SBN_TUNED; ++t)
                    replica.tuning.percent[t] = t == n / PERCENTS || n / PERCENTS == SBN_TUNED
                                                    ? percents[n % PERCENTS]
                                                    : 0;
                const sbn_reduce_plan other = sbn__plan_reduce(&shape, &replica, 8);
                const sbn_apply_plan another = sbn__plan_apply(&shape, &replica);
                wrong += !covers(&shape, &replica);
                differ += memcmp(&other, &reduce, sizeof reduce) != 0 ||
                          memcmp(&another, &apply, sizeof apply) != 0;
            }
        }
    }
    tap_ok(wrong == 0 && differ > count / 4, "%d plans, %d differ, %d do not cover their shape",
           count, differ, wrong);
}

/* 2^56 elements, which no buffer has. */
static void limits(void)
{
    for (int more = 0; more < 2; ++more) {
        const sbn_shard shard = SHARD_WITH(.dims = 3, .shape = {1 << 17, 1 << 30, 512 << more});
        sbn_shape shape;
        expect(sbn__shape_of(&shape, &shard, 1 << 30, SBN_LAYOUT_NCHW, SBN_F32, "shape"),
               more ? SBN_INVALID_ARGUMENT : SBN_SUCCESS, more ? "too large" : "", "a shape");
    }
}

/* --- compiler options --- */

static void build_options(void)
{
    /* An option, why it is refused, and where it stands, if not alone. */
    static const char *const refused[][3] = {
        {"-cl-fast-relaxed-math", "re-associate"},
        {"-cl-unsafe-math-optimizations", "re-associate"},
        {"-cl-mad-enable", "contract a * b + c"},
        {"-cl-finite-math-only", "NaN and infinities"},
        {"-cl-no-signed-zeros", "sign of zero"},
        {"-Ofast", "re-associate"},
        {"-ffast-math", "re-associate"},
        {"-ffp-model=fast", "re-associate"},
        {"-ffp-model=aggressive", "re-associate"},
        {"-funsafe-math-optimizations", "re-associate"},
        {"-fassociative-math", "re-associate"},
        {"-menable-unsafe-fp-math", "re-associate"},
        {"-ffp-contract=fast", "contract a * b + c"},
        {"-ffinite-math-only", "NaN and infinities"},
        {"-fno-honor-nans", "NaN and infinities"},
        {"-fno-honor-infinities", "NaN and infinities"},
        {"-fno-signed-zeros", "sign of zero"},
        {"-cl-mad-enable", "contract", "-D A=1 -cl-mad-enable -D B"},
        {"-cl-mad-enable", "contract", "-D A=1\t-cl-mad-enable\n"},
        {"-cl-mad-enable", "contract", "   -cl-mad-enable   "},
        {"-cl-mad-enable", "contract", "\"-cl-mad-enable\""},
        {"-cl-mad-enable", "contract", "'-cl-mad-enable' -w"},
        {"-ffast-math", "re-associate", "-Xclang -ffast-math"},
        {"-cl-mad-enable", "contract", "-Werror --cl-mad-enable"},
        {"-cl-mad-enable", "contract", "-D -cl-mad-enable"},
        /* Drivers differ in whether quotes hold options together. */
        {"-cl-mad-enable", "contract", "-I \"a -cl-mad-enable b\""},
        {"-cl-fast-relaxed-math", "re-associate", "-cl-fast-relaxed-math -cl-mad-enable"},
    };
    static const char *const accepted[] =
        {"", "  ", "\"", "\" \"", "-", "--",
         /* Other names, and values. */
         "-D -cl-mad-enable-not", "-D MODE=-cl-mad-enable -D cl-mad-enable -Dcl_fast_relaxed_math",
         "-DOPTIONS=\"-cl-mad-enable\"", "-cl-denorms-are-zero",
         "-cl-fp32-correctly-rounded-divide-sqrt -cl-opt-disable -cl-single-precision-constant",
         "-cl-std=CL2.0 -w -Werror -I include -I/usr/-ffast-math",
         "-cl-nv-verbose -cl-nv-maxrregcount=64 -cl-intel-greater-than-4GB-buffer-required",
         "-ffp-contract=off -fno-fast-math -O3"};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        const char *option = refused[i][0], *options = refused[i][2] ? refused[i][2] : option;
        char words[160];
        snprintf(words, sizeof words, "build_options: \"%s\" is refused: |%s", option,
                 refused[i][1]);
        expect(sbn__build_options_check(options), SBN_INVALID_ARGUMENT, words, options);
        sbn__error_clear();
    }
    for (size_t i = 0; i < sizeof accepted / sizeof *accepted; ++i)
        expect(sbn__build_options_check(accepted[i]), SBN_SUCCESS, "", accepted[i]);

    char long_one[SBN_MAX_BUILD_OPTIONS + 2] = "";
    memset(long_one, ' ', SBN_MAX_BUILD_OPTIONS);
    expect(sbn__build_options_check(long_one), SBN_SUCCESS, "", "the longest");
    strcpy(long_one + SBN_MAX_BUILD_OPTIONS, "w");
    expect(sbn__build_options_check(long_one), SBN_INVALID_ARGUMENT,
           "build_options: expected at most 1000 characters, got 1001", "too long");
}

int main(void)
{
    parsed();
    limits();
    plans();
    recorded();
    build_options();
    return tap_done();
}
