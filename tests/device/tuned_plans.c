/*
 * Tuned numbers (src/device/tuning.h) as text, of which any mistake is refused; no number, however
 * extreme, makes a plan that leaves something out; and the plans of the GPU form's reductions, which
 * no result shows.
 */
#include <stdio.h>
#include <string.h>

#include "plan/launch_plan.h"
#include "device/tuning.h"
#include "support/fixture.h"

static void parsed(void)
{
    static const char *const wrong[] = {"groups",
                                        "groups=",
                                        "groups=0",
                                        "groups=10001",
                                        "groups=-1",
                                        "groups=+1",
                                        "groups= 1",
                                        "groups=1 ",
                                        "groups=0x10",
                                        "groups=4294967396",
                                        "groups=18446744073709551716",
                                        "groups=1,groups=1",
                                        "groups=1,",
                                        ",groups=1",
                                        ",",
                                        "groups=1;apply=1",
                                        "group=1",
                                        "groups2=1",
                                        "Groups=1",
                                        "=1"};
    char sentence[256], text[SBN_TUNING_TEXT];
    sbn_tuning tuning;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        const int good = sbn__tuning_parse(wrong[i], &tuning, sentence, sizeof sentence);
        tap_ok(!good && strstr(sentence, "each once and from 1 to 10000, got \"") &&
                   memcmp(&tuning, &(sbn_tuning){{0}}, sizeof tuning) == 0,
               "\"%s\" is refused: %s", wrong[i], sentence);
    }
    tap_ok(sbn__tuning_parse("apply=10000,cache=1,groups=100", &tuning, sentence,
                             sizeof sentence) &&
               tuning.percent[SBN_TUNED_APPLY] == 10000 && tuning.percent[SBN_TUNED_CACHE] == 1,
           "any order");
    sbn__tuning_print(&tuning, text);
    tap_ok(strcmp(text, "apply=10000,cache=1") == 0, "printed: %s", text);
    tap_ok(sbn__tuned(&tuning, SBN_TUNED_APPLY, 7) == 700 &&
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
    const sbn_shard shard = {.size = sizeof shard,
                             .dims = 3,
                             .shape = {extents[0], extents[1], extents[2]}};
    must(sbn__shape_of(&shape, &shard, extents[1], layout, SBN_F32, "shape"), "sbn__shape_of");
    return shape;
}

/* On a device of 132 units: work-groups, and of how many channels and blocks each. */
static void recorded(void)
{
    static const struct {
        const char *name;
        size_t extents[3];
        sbn_layout layout;
        const char *plan;
    } rows[] = {
        {"large planes", {32, 64, 12544}, SBN_LAYOUT_NCHW, "64x13 of 1x128, tail"},
        {"planes of one block", {64, 256, 196}, SBN_LAYOUT_NCHW, "16x16 of 16x4, tail"},
        {"small planes", {64, 512, 49}, SBN_LAYOUT_NCHW, "32x8 of 16x8, tail"},
        {"small planes of one slice", {16, 8448, 49}, SBN_LAYOUT_NCHW, "528x1 of 16x16, tail"},
        {"large planes, last", {64, 256, 196}, SBN_LAYOUT_NHWC, "16x16 of 16x4, tail"},
        {"small planes, last", {64, 512, 49}, SBN_LAYOUT_NHWC, "32x8 of 16x8, tail"},
        {"few planes, last", {2, 256, 784}, SBN_LAYOUT_NHWC, "16x4 of 16x2, tail"},
        {"rows of few slices", {2048, 256, 1}, SBN_LAYOUT_NHWC, "8x16 of 32x128, tail"},
        {"rows", {65536, 256, 1}, SBN_LAYOUT_NHWC, "8x64 of 32x1024, added"},
    };
    const sbn_replica replica = {.form = SBN_FORM_GPU,
                                 .compute_units = 132,
                                 .counts_slices = 1,
                                 .cache_size = (size_t)50 << 20};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        const sbn_shape shape = shape_of(rows[i].extents, rows[i].layout);
        const sbn_reduce_plan plan = sbn__plan_reduce(&shape, &replica, 8);
        char text[128];
        snprintf(text, sizeof text, "%zux%zu of %ux%u%s%s", plan.work_groups[0],
                 plan.work_groups[1], 1u << plan.log2_strip, plan.per_slice,
                 plan.adds_slices ? ", added" : "", plan.sums_up ? ", tail" : "");
        tap_ok(strcmp(text, rows[i].plan) == 0, "%s: %s", rows[i].name, text);
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
            sbn_replica replica = {.form = k % 2 ? SBN_FORM_GPU : SBN_FORM_CPU,
                                   .compute_units = units[k / 2],
                                   .cache_size = 1 << 24};
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

/* Work-items of the GPU form count the elements of three rows in 32 bits: 8 images of 64 channels, 288^3. */
static void wide_rows(void)
{
    static const size_t planes[] = {22369621, 288 * 288 * 288};
    const sbn_replica replica = {.form = SBN_FORM_GPU, .compute_units = 132};
    for (int i = 0; i < 2; ++i) {
        const sbn_shape shape = shape_of((const size_t[]){8, 64, planes[i]}, SBN_LAYOUT_NCHW);
        const sbn_apply_plan plan = sbn__plan_apply(&shape, &replica);
        tap_ok(plan.walk == (i ? SBN_WALK_PLANES : SBN_WALK_ROWS), "3 rows of %zu elements: walk %d",
               shape.row, plan.walk);
    }
}

int main(void)
{
    parsed();
    wide_rows();
    plans();
    recorded();
    return tap_done();
}
