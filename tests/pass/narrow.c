/*
 * Where the narrow formats end (src/exact/format.c): a block within their limits does without the wide one, a block
 * just beyond does not, which a caller is told; the lowest bit of a sum counts, and so does the largest float.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "group/group.h"
#include "support/main.h"

/* A block of 2^exponent: all of it, with both signs in turn, or its last quarter. Backward x is 1 and -1 in turn. */
enum { CONSTANT, TURNS, LATE, ELEMENTS = 256 };

static const struct {
    int back, kind, exponent, wide;
} blocks[] = {
    {0, TURNS, 19, 0},     {0, TURNS, 20, 1},     {0, CONSTANT, 17, 0}, {0, CONSTANT, 18, 1},
    {0, CONSTANT, -24, 0}, {0, CONSTANT, -25, 1}, {1, CONSTANT, 19, 0}, {1, CONSTANT, 20, 1},
    {1, TURNS, 22, 0},     {1, TURNS, 23, 1},     {1, LATE, 24, 0},     {1, CONSTANT, -56, 0},
    {1, CONSTANT, -57, 1},
};

/* Own gradients of a replica whose blocks are wide, beside one with an infinity: alike whoever combines. */
static void check_own(void)
{
    const float infinite = INFINITY;
    float sums[2][2];
    for (int host = 0; host < 2; ++host) {
        const life l = LIVE_WITH(fixture_group(queue, 2, SBN_FORM_AUTO), .channels = 1);
        slice s[2];
        sbn_shard shards[2];
        l.group->combines = l.group->combines && !host;
        slices_open(s, shards, 2, &device, queue, 1, 1, ELEMENTS, 1);
        float dy[ELEMENTS];
        for (int e = 0; e < ELEMENTS; ++e)
            dy[e] = ldexpf((float)(1 + e % 3), 21);
        buffer_write(&s[0], &s[0].shard.dy, ELEMENTS, dy);
        buffer_write(&s[1], &s[1].shard.dy, 1, &infinite);
        fixture_train(&l, shards);
        buffer_read(&s[0], &s[0].shard.weight_grad, 1, &sums[host][0]);
        buffer_read(&s[0], &s[0].shard.bias_grad, 1, &sums[host][1]);
        slices_close(s, 2);
        fixture_die(&l);
    }
    tap_ok(sums[0][1] == ldexpf(511, 21) && memcmp(sums[0], sums[1], sizeof *sums) == 0,
           "own gradients beside an infinity: %a and %a", (double)sums[0][1], (double)sums[1][1]);
}

/* Blocks of the largest float, of lengths whose rounded means would add up to more. */
static void check_largest(sbn_kernel_form form, sbn_layout layout)
{
    enum { SAMPLES = 2, CHANNELS = 2, PLANE = 23, ALL = SAMPLES * CHANNELS * PLANE };
    const life l = LIVE_WITH(fixture_group(queue, 1, form), .channels = CHANNELS, .layout = layout);
    slice s;
    float dy[ALL], mean[CHANNELS], var[CHANNELS], y, gradient;
    for (int e = 0; e < ALL; ++e)
        dy[e] = e < ALL / SAMPLES ? FLT_MAX : -FLT_MAX;
    slice_open(&s, &device, queue, 0, SAMPLES, CHANNELS, PLANE, 1);
    buffer_fill(&s, &s.shard.x, ALL, -FLT_MAX);
    buffer_write(&s, &s.shard.dy, ALL, dy);
    buffer_fill(&s, &s.shard.bias, CHANNELS, 1);
    fixture_train(&l, &s.shard);
    must(sbn_saved_stats(l.saved, mean, var, NULL), "sbn_saved_stats");
    buffer_read(&s, &s.shard.y, 1, &y);
    buffer_read(&s, &s.shard.bias_grad, 1, &gradient);
    tap_ok(mean[0] == -FLT_MAX && var[0] == 0 && y == 1 && gradient == 0,
           "form %d, layout %d, the largest float: mean %a, variance %a, y %a, gradient %a",
           (int)form, (int)layout, (double)mean[0], (double)var[0], (double)y, (double)gradient);
    slice_close(&s);
    fixture_die(&l);
}

void checks(void)
{
    const float low[ELEMENTS] = {[16] = 1, [32] = -1, [48] = 0x1p-64f};
    const float huge[ELEMENTS] = {0x1p100f, -0x1p100f};
    float mean, var, gradients[2];
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_AUTO), .channels = 1);
    slice s;
    l.group->combines = 0;
    slice_open(&s, &device, queue, 0, 1, 1, ELEMENTS, 1);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; ++i) {
        const int back = blocks[i].back, kind = blocks[i].kind, exponent = blocks[i].exponent;
        sbn_result result = SBN_RESULT_INIT;
        float x[ELEMENTS], dy[ELEMENTS];
        for (int e = 0; e < ELEMENTS; ++e) {
            const float sign = e % 2 ? -1 : 1;
            dy[e] = kind == LATE && e < 192 ? 0 : ldexpf(kind == TURNS ? sign : 1, exponent);
            x[e] = back ? sign : dy[e];
        }
        buffer_write(&s, &s.shard.x, ELEMENTS, x);
        buffer_write(&s, &s.shard.dy, ELEMENTS, dy);
        must(sbn_forward(l.layer, &s.shard, l.saved, 0, &result), "sbn_forward");
        if (back)
            must(sbn_backward(l.layer, &s.shard, l.saved, 0, &result), "sbn_backward");
        tap_ok(result.wide == blocks[i].wide, "%s, block %zu, 2^%d: the wide format is needed: %d",
               operation_names[back], i, exponent, result.wide);
    }
    buffer_write(&s, &s.shard.x, ELEMENTS, low);
    must(sbn_forward(l.layer, &s.shard, l.saved, 0, NULL), "sbn_forward");
    must(sbn_saved_stats(l.saved, &mean, NULL, NULL), "sbn_saved_stats");
    tap_ok(mean == 0x1p-72f, "2^-64 is the sum: the mean is %a", (double)mean);
    buffer_write(&s, &s.shard.x, ELEMENTS, huge);
    buffer_fill(&s, &s.shard.dy, ELEMENTS, 1);
    fixture_train(&l, &s.shard);
    must(sbn_saved_stats(l.saved, NULL, &var, NULL), "sbn_saved_stats");
    buffer_read(&s, &s.shard.weight_grad, 1, &gradients[0]);
    buffer_read(&s, &s.shard.bias_grad, 1, &gradients[1]);
    tap_ok(isinf(var) && gradients[0] == 0 && gradients[1] == ELEMENTS,
           "a variance of %a: weight_grad %a, bias_grad %a", (double)var, (double)gradients[0],
           (double)gradients[1]);
    slice_close(&s);
    fixture_die(&l);
    check_own();
    check_largest(SBN_FORM_CPU, SBN_LAYOUT_NCHW);
    check_largest(SBN_FORM_CPU, SBN_LAYOUT_NHWC);
    check_largest(SBN_FORM_GPU, SBN_LAYOUT_NCHW);
}
