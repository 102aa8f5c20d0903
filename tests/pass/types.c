/*
 * A layer that stores f16 or bf16 is the f32 layer of the same numbers whose y and dx are rounded
 * once: mean, variance, gradients of weight and bias and running statistics have the same bits, and
 * y and dx those of the float rounded here, on every usable device, in its own form of the kernels
 * and in that for GPUs. Subnormal halves, overflow and NaN are among the numbers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/storage.h"
#include "support/tap.h"
#include "support/trial.h"

/* Every kernel of both forms: planes, tiles of rows, rows of one element, whole channels. */
static const char *const shapes[] = {
    "mb8ic37",
    "mb64ic40,last",
    "mb5ic16ih4iw4",
    "mb8ic35ih7iw7,last",
    "mb4ic33ih28iw28",
    "mb4ic33ih28iw28,last,off1",
    "mb3ic7il257,split1-2,off3",
    "mb3ic5ih56iw56,last,split2-0-1",
    "mb2ic3ih61iw67,global,accumulate",
    "mb6ic17ih14iw14,data=large_mean,grad=one",
    "mb6ic17ih14iw14,last,data=tiny_var,grad=huge",
    "mb6ic17ih14iw14,last,data=wide,grad=wide",
    "mb4ic9ih28iw28,data=nan,grad=inf",
    "mb6ic5ih13iw17,eps=0.001,clamp,cumulative",
    "mb6ic5ih13iw17,last,plain,untracked",
};

/* Floats hold subnormal halves as ordinary numbers, so that no device may flush them. */
static const char *const halves[] = {
    "mb8ic37,data=denormal,grad=denormal",
    "mb4ic9ih28iw28,data=denormal,grad=denormal",
    "mb4ic9ih28iw28,last,data=denormal,grad=denormal",
    "mb4ic9ih28iw28,data=huge,grad=tiny_var",
    "mb4ic9ih28iw28,data=tiny_var,grad=huge",
};

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return isnan(value) ? 0x7fc00000 : bits;
}

/* How many values of an output are not as those in f32 rounded. */
static size_t differing(const output *narrow, const output *f32, sbn_type type, size_t *rounded)
{
    size_t wrong = 0;
    for (size_t i = 0; i < f32->count && f32->data; ++i) {
        const float right = storage_round(type, f32->data[i]);
        wrong += bits_of(narrow->data[i]) != bits_of(right);
        *rounded += bits_of(right) != bits_of(f32->data[i]);
    }
    return wrong + (narrow->count != f32->count);
}

static void check_line(runner *r, const char *device, const char *shape, sbn_type type,
                       const char *form)
{
    char line[PROBLEM_LINE], error[RUNNER_ERROR];
    trial narrow, f32;
    snprintf(line, sizeof line, "%s,%s,form=%s", shape, storage_names[type], form);
    trial_make(&narrow, line, 2);
    trial_make(&f32, line, 2);
    f32.p.type = SBN_F32;
    if (trial_run(&narrow, r, error) || trial_run(&f32, r, error)) {
        tap_ok(0, "%s: %s: %s", device, line, error);
    } else {
        size_t wrong = 0, rounded = 0, none = 0;
        for (int id = 0; id < OUTPUTS; ++id) {
            const int stored = id == OUT_Y || id == OUT_AGAIN || id == OUT_EVAL || id == OUT_DX;
            const size_t count = differing(&narrow.out.of[id], &f32.out.of[id],
                                           stored ? type : SBN_F32, stored ? &rounded : &none);
            if (count)
                tap_note("%s: %zu of %zu differ", output_names[id], count, f32.out.of[id].count);
            wrong += count;
        }
        tap_ok(!wrong && rounded, "%s: %s: %zu values differ from those in f32; %zu were rounded",
               device, line, wrong, rounded);
    }
    trial_free(&narrow);
    trial_free(&f32);
}

static void check_both_forms(runner *r, const char *device, const char *shape, sbn_type type)
{
    check_line(r, device, shape, type, "auto");
    check_line(r, device, shape, type, "gpu");
}

static void check_device(runner *r, const char *device)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        check_both_forms(r, device, shapes[i], SBN_F16);
        check_both_forms(r, device, shapes[i], SBN_BF16);
    }
    for (size_t i = 0; i < sizeof halves / sizeof *halves; ++i)
        check_both_forms(r, device, halves[i], SBN_F16);
}

int main(void)
{
    return trial_every_device(check_device);
}
