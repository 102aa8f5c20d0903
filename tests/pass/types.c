/*
 * Halves and bfloat16s against floats: a layer of either type must write, bit for bit, what a layer
 * of floats writes that is given the same values, each result rounded here; and statistics and
 * gradients of the same bits. All passes, both layouts, both forms, both formats, on every device.
 */
#include "pass/types.h"

#include <stddef.h>
#include <stdio.h>

#include "support/programs_kept.h"
#include "support/sample.h"

/* For all kernels: planes of one element, of part of a block, of blocks; strips of channels. */
static const struct {
    size_t samples, channels, plane;
    int values;
} shapes[] = {
    {3, 5, 7, VALUES_PLAIN},     {5, 37, 1, VALUES_PLAIN},    {4, 3, 67, VALUES_PLAIN},
    {3, 2, 2100, VALUES_PLAIN},  {5, 35, 3, VALUES_PLAIN},    {70, 64, 1, VALUES_PLAIN},
    {3, 3, 300, VALUES_ANY},     {9, 19, 1, VALUES_ANY},      {4, 40, 21, VALUES_ANY},
    {3, 7, 300, VALUES_SPECIAL}, {9, 40, 1, VALUES_SPECIAL},  {4, 40, 5, VALUES_SPECIAL},
    {3, 2, 40000, VALUES_PLAIN}, {2, 70, 1500, VALUES_PLAIN},
};

typedef struct step {
    const char *name;
    size_t place; /* of the buffer that it writes, in the shard */
} step;

enum { FORWARD, BACKWARD, EVALUATION, RECOMPUTATION, STEPS };

static const step steps[STEPS] = {
    [FORWARD] = {"forward", offsetof(sbn_shard, y)},
    [BACKWARD] = {"backward", offsetof(sbn_shard, dx)},
    [EVALUATION] = {"evaluation", offsetof(sbn_shard, y)},
    [RECOMPUTATION] = {"recomputation", offsetof(sbn_shard, y)},
};

static void call(const side *s, int which)
{
    switch (which) {
    case FORWARD: must(sbn_forward(s->layer, s->shards, s->saved, 0, NULL), "sbn_forward"); break;
    case BACKWARD:
        must(sbn_backward(s->layer, s->shards, s->saved, 0, NULL), "sbn_backward");
        break;
    case EVALUATION: must(sbn_evaluate(s->layer, s->shards), "sbn_evaluate"); break;
    default: must(sbn_recompute(s->layer, s->shards, s->saved), "sbn_recompute");
    }
}

static void check(const setup *on, const case_of *c)
{
    char why[256] = "";
    side typed, floats;
    int same = 1;
    side_open(&typed, c, c->type, 0, on->group, on->context, on->queue);
    side_open(&floats, c, SBN_F32, 0, on->group, on->context, on->queue);
    for (int i = 0; i < STEPS && same; ++i) {
        char at[160] = "";
        call(&typed, i);
        call(&floats, i);
        same = sides_agree(&typed, &floats, c, steps[i].place, on->queue, at, sizeof at);
        snprintf(why, sizeof why, "%s: %s", steps[i].name, at);
    }
    if (same)
        same = sides_agree_in_channels(&typed, &floats, c, on->queue, why, sizeof why);
    tap_ok(same, "%s, %s form, %s%s%s, mb%zuic%zuil%zu, %s, r%zu: %s", on->device,
           on->form == SBN_FORM_CPU ? "CPU" : "GPU", storage_name(c->type),
           on->on_host ? ", the host combines" : "", c->frozen ? ", frozen" : "", c->samples,
           c->channels, c->plane, c->layout == SBN_LAYOUT_NCHW ? "first" : "last", c->replicas,
           same ? "the same bits" : why);
    side_close(&typed, c);
    side_close(&floats, c);
}

/* Layers of all types in one pass write what they write alone. */
static void check_branches(const setup *on)
{
    static const sbn_type types[] = {SBN_BF16, SBN_F32, SBN_F16, SBN_F32};
    case_of c = {.samples = 5, .channels = 6, .plane = 50, .replicas = TYPES_REPLICAS};
    sbn_branch branches[4];
    side sides[4];
    char why[256] = "";
    for (size_t i = 0; i < 4; ++i) {
        c.type = i < 2 ? SBN_BF16 : SBN_F16;
        side_open(&sides[i], &c, types[i], 0, on->group, on->context, on->queue);
        branches[i] = (sbn_branch)SBN_BRANCH_INIT;
        branches[i].layer = sides[i].layer;
        branches[i].shards = sides[i].shards;
        branches[i].saved = sides[i].saved;
    }
    must(sbn_forward_branches(branches, 4, NULL), "sbn_forward_branches");
    must(sbn_backward_branches(branches, 4, NULL), "sbn_backward_branches");
    int same = 1;
    for (size_t pair = 0; pair < 2 && same; ++pair) {
        const side *typed = &sides[pair ? 2 : 0], *floats = &sides[pair ? 3 : 1];
        c.type = typed->type;
        for (int i = FORWARD; i <= BACKWARD && same; ++i)
            same = sides_agree(typed, floats, &c, steps[i].place, on->queue, why, sizeof why);
        same = same && sides_agree_in_channels(typed, floats, &c, on->queue, why, sizeof why);
    }
    tap_ok(same, "%s: bf16, f32, f16 and f32 in one pass: %s", on->device,
           same ? "the same bits" : why);
    for (size_t i = 0; i < 4; ++i)
        side_close(&sides[i], &c);
}

static void check_setup(setup *on, size_t replicas)
{
    static const sbn_type types[] = {SBN_F16, SBN_BF16};
    setup_open_group(on, replicas);
    /* A sample of the GPU form, which takes long to compile, has the first; where there is no other form,
     * with every second shape. */
    const size_t count = on->form == SBN_FORM_GPU && sample_only() ? 1 : 2;
    const size_t every = sample_only() && !on->has_cpu_form ? 2 : 1;
    for (size_t t = 0; t < count; ++t)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i += every) {
            const case_of c = {
                .type = types[t],
                .layout = (sbn_layout)(i / 2 % 2),
                .samples = shapes[i].samples,
                .channels = shapes[i].channels,
                .plane = shapes[i].plane,
                .values = shapes[i].values,
                .replicas = replicas,
            };
            case_of other = c;
            other.layout = (sbn_layout)!c.layout;
            check(on, &c);
            check(on, &other);
            other.frozen = 1;
            check(on, &other);
        }
    if (replicas == TYPES_REPLICAS)
        check_branches(on);
    must(sbn_group_destroy(on->group), "sbn_group_destroy");
}

/* A driver whose compiler takes minutes for all of it gets the GPU form with one replica. */
static void check_device(const device_info *info)
{
    setup on;
    setup_open(&on, info);
    on.form = SBN_FORM_GPU;
    check_setup(&on, 1);
    if (info->form == SBN_FORM_CPU) {
        check_setup(&on, TYPES_REPLICAS);
        on.form = SBN_FORM_CPU;
        check_setup(&on, 1);
        check_setup(&on, TYPES_REPLICAS);
        on.on_host = 1;
        check_setup(&on, TYPES_REPLICAS);
    }
    setup_close(&on);
}

int main(void)
{
    trial_usable_devices(check_device);
    programs_release();
    return tap_done();
}
