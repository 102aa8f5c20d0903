/*
 * What doc/order.md says of saved statistics, their last bits, and what <syncbn/batchnorm.h> and
 * <syncbn/pass.h> say of NaN: where it comes from, and where it stays. Planes of one element, so that sums
 * are exact but for what is cut off. Saved statistics as bytes: which are refused, and that ranks must load those of
 * one pass. Backward and recomputation from loaded ones: tests/pass/same.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "group/group.h"
#include "support/main.h"
#include "support/ranks.h"
#include "support/refused.h"
#include "support/wraps.h"

enum { SAMPLES = 8 };

static slice data;

/* How a layer is made; on_host: the host combines. */
typedef struct setting {
    sbn_batchnorm_config of; /* as of LAYER_WITH */
    sbn_kernel_form form;
    int on_host;
} setting;

static life make(const setting *as)
{
    sbn_group *group = fixture_group(queue, 1, as->form);
    group->combines = group->combines && !as->on_host;
    return fixture_live(group, as->of);
}

/* Half of the elements are 2^scale, half are larger by a unit in the last place. */
static void check_variance(void)
{
    const double cut = 0x1p-78;
    int far_off = 0;
    for (int scale = -40; scale <= 10; ++scale)
        for (int has_eps = 0; has_eps < 2; ++has_eps) {
            const double exact_mean = ldexp(1.0 + 0x1p-24, scale),
                         exact = ldexp(0x1p-48, 2 * scale);
            const life l = make(&(setting){.of = {.channels = 1, .eps = has_eps ? 0x1p-48 : OFF}});
            float x[SAMPLES], mean, var;
            for (int k = 0; k < SAMPLES; ++k)
                x[k] = ldexpf(k % 2 ? 0x1.000002p0f : 1.0f, scale);
            buffer_write(&data, &data.shard.x, SAMPLES, x);
            must(sbn_forward(l.layer, &data.shard, l.saved, SBN_KEEP_RUNNING_STATS, NULL),
                 "sbn_forward");
            must(sbn_saved_stats(l.saved, &mean, &var, NULL), "sbn_saved_stats");
            fixture_die(&l);
            const double off = fabs((double)var - exact);
            if (has_eps
                    ? !(off <= cut && fabs(mean - exact_mean) <= 0x1p-63 + ldexp(0x1p-24, scale))
                    : off != 0 || mean != (float)exact_mean)
                tap_ok(0, "2^%d, eps: %d: mean %a of %a, variance %a of %a", scale, has_eps,
                       (double)mean, exact_mean, (double)var, exact);
            far_off += has_eps && exact < cut && off > exact / 2;
        }
    tap_ok(far_off > 0, "variances within 2^-78 with eps 2^-48, lost %d times; exact with eps 0",
           far_off);
}

/* All of y, or of dx, of one channel are NaN. */
static void all_are_nan(const setting *as, const sbn_buffer *buffer, const char *what)
{
    float values[SAMPLES];
    int all = 1;
    buffer_read(&data, buffer, SAMPLES, values);
    for (int i = 0; i < SAMPLES; ++i)
        all = all && isnan(values[i]);
    tap_ok(all, "%s, %s, %s form, %s%s%s: NaN", what, buffer == &data.shard.y ? "y" : "dx",
           as->form == SBN_FORM_CPU ? "CPU" : "GPU",
           as->of.layout == SBN_LAYOUT_NCHW ? "channels first" : "channels last",
           as->of.activation == SBN_RELU ? ", ReLU" : "", as->on_host ? ", the host combines" : "");
}

/* A forward and a backward pass over these: dx is NaN, and y, unless the variance is clamped. */
static void train(const setting *as, const life *l, const float *x, const float *dy,
                  const char *what)
{
    buffer_write(&data, &data.shard.x, SAMPLES, x);
    buffer_write(&data, &data.shard.dy, SAMPLES, dy);
    slice_reset(&data);
    fixture_train(l, &data.shard);
    if (as->of.eps_mode != SBN_EPS_CLAMP)
        all_are_nan(as, &data.shard.y, what);
    all_are_nan(as, &data.shard.dx, what);
}

static const float constant[SAMPLES] = {1, 1, 1, 1, 1, 1, 1, 1};
static const float some[SAMPLES] = {0, 1, -1, 2, -2, 3, -3, 4};

/* A variance of 0, in training also one that is cut off, with eps 0. */
static void check_eps(setting as)
{
    const float zero = 0.0f;
    float tiny[SAMPLES]; /* their mean has more digits than a float */
    as.of.eps = OFF;
    const life l = make(&as);
    for (int i = 0; i < SAMPLES; ++i)
        tiny[i] = ldexpf(1.0f + 0x1p-23f * (float)(i + i / 7), -100);
    train(&as, &l, constant, some, "training, constant");
    train(&as, &l, tiny, some, "training, tiny");
    must(sbn_batchnorm_set_running_stats(l.layer, &zero, &zero, NULL), "set");
    buffer_write(&data, &data.shard.x, SAMPLES, some);
    slice_reset(&data);
    must(sbn_evaluate(l.layer, &data.shard), "sbn_evaluate");
    all_are_nan(&as, &data.shard.y, "evaluation");
    must(sbn_batchnorm_set_frozen(l.layer, 1), "freeze");
    train(&as, &l, some, some, "frozen");
    fixture_die(&l);
}

/* An infinite dy where eps takes the place of the variance. */
static void check_clamped(setting as)
{
    static const float dy[SAMPLES] = {0, 1, -1, INFINITY, -2, 3, -3, 4};
    as.of.eps = 1.0;
    as.of.eps_mode = SBN_EPS_CLAMP;
    as.of.activation = SBN_IDENTITY;
    const life l = make(&as);
    train(&as, &l, constant, dy, "a clamped variance, Inf in dy");
    fixture_die(&l);
}

/* --- as bytes --- */

enum { CHANNELS = 3, PLANE = 33, ROOM = 4096 };

static unsigned char bytes[ROOM], again[ROOM];
static slice batch;
/* dy serves as the residual, and its gradient is not asked for. */
static sbn_shard shard;

/* With a residual; if it is masked, with a ReLU, too, whose signs are saved. */
static life live(sbn_group *group, int is_masked, size_t channels)
{
    return LIVE_WITH(group, .name = "first", .channels = channels, .residual = 1,
                     .activation = is_masked ? SBN_RELU : SBN_IDENTITY);
}

/*
 * Two passes over the same batch leave the same bytes, but for the number of the pass; so does one behind a pass that
 * failed, which had prepared a mask for its own shape.
 */
static void check_bytes_of_two_passes(void)
{
    const life l = live(fixture_group(queue, 1, SBN_FORM_CPU), 1, CHANNELS);
    sbn_saved *from = fixture_saved(l.layer);
    size_t size = 0;
    sbn_shard little = shard;
    little.shape[0] = little.shape[2] = 1;
    expect(sbn_forward(l.layer, &little, l.saved, 0, NULL), SBN_TOO_FEW_VALUES, "got 1", "a value");
    must(sbn_forward(l.layer, &shard, from, 0, NULL), "sbn_forward");
    must(sbn_saved_store(from, bytes, ROOM, &size), "sbn_saved_store");
    must(sbn_saved_load(l.saved, bytes, size), "sbn_saved_load");
    must(sbn_forward(l.layer, &shard, l.saved, 0, NULL), "sbn_forward");
    expect(sbn_saved_store(l.saved, again, ROOM, &size), SBN_SUCCESS, "",
           "a mask behind a pass that failed and a load");
    const int differ = memcmp(bytes, again, size) != 0;
    memcpy(again + SBN_SAVED_PASS, bytes + SBN_SAVED_PASS, SBN_SAVED_PASS_SIZE);
    tap_ok(differ && memcmp(bytes, again, size) == 0,
           "the bytes of two passes differ in SBN_SAVED_PASS alone");
    must(sbn_saved_destroy(from), "sbn_saved_destroy");
    fixture_die(&l);
}

/* A load of these bytes, of which one is changed. */
typedef struct arguments {
    sbn_saved *saved;
    const unsigned char *memory;
    size_t size, at;
    unsigned char change;
} arguments;

static int load(const void *of)
{
    const arguments *a = of;
    bytes[a->at] ^= a->change;
    const int status = sbn_saved_load(a->saved, a->memory, a->size);
    bytes[a->at] ^= a->change;
    return status;
}

/* What is loaded into stays empty until the right bytes come. */
static sbn_saved *target;

static uint64_t state(void)
{
    float mean[CHANNELS];
    return (uint64_t)sbn_saved_stats(target, mean, NULL, NULL);
}

static void check_refused(void)
{
    const life l = live(fixture_group(queue, 1, SBN_FORM_CPU), 1, CHANNELS);
    const life wide = live(l.group, 1, CHANNELS + 1), plain = live(l.group, 0, CHANNELS);
    const life clamped = LIVE_WITH(l.group, .name = "first", .channels = CHANNELS, .residual = 1,
                                   .activation = SBN_RELU, .eps_mode = SBN_EPS_CLAMP);
    size_t size = 0;
    REFUSED(sbn_saved_store(NULL, bytes, ROOM, &size), "saved: |got NULL");
    REFUSED(sbn_saved_store(l.saved, bytes, ROOM, &size),
            "saved: no forward pass has filled it yet");
    must(sbn_forward(l.layer, &shard, l.saved, 0, NULL), "sbn_forward");
    must(sbn_forward(plain.layer, &shard, plain.saved, 0, NULL), "sbn_forward");
    must(sbn_saved_store(plain.saved, bytes, ROOM, &size), "sbn_saved_store");
    bytes[88 + 7] = 1;
    REFUSED(sbn_saved_load(plain.saved, bytes, size), "memory: replica 0: expected a shape and");
    tap_ok(size == 88 + 40 + 24 * CHANNELS, "the bytes of one replica: %zu", size);
    REFUSED(sbn_saved_store(l.saved, bytes, ROOM, NULL), "size: expected a place");
    must(sbn_saved_store(l.saved, NULL, 0, &size), "sbn_saved_store");
    memset(bytes, 7, sizeof bytes);
    REFUSED(sbn_saved_store(l.saved, bytes, size - 1, &size), "room: expected at least");
    tap_ok(bytes[0] == 7, "it writes nothing");
    must(sbn_saved_store(l.saved, bytes, size, &size), "sbn_saved_store");
    tap_ok(bytes[size] == 7, "nothing behind its bytes");
    sbn_pass *pass;
    must(sbn_backward_begin(l.layer, &shard, l.saved, 0, &pass), "sbn_backward_begin");
    REFUSED(sbn_saved_load(l.saved, bytes, size),
            "saved: expected no pass under way that uses it, got 1");
    must(sbn_pass_end(pass, NULL), "sbn_pass_end");
    target = l.saved;
    must(sbn_forward_begin(l.layer, &shard, target, 0, &pass), "sbn_forward_begin");
    tap_ok(state() == (uint64_t)SBN_INVALID_ARGUMENT, "no statistics while a pass fills them");
    must(sbn_pass_end(pass, NULL), "sbn_pass_end");
    target = fixture_saved(l.layer);
    const arguments right = {.saved = target, .memory = bytes, .size = size};
    const refusal rows[] = {
        ROW(saved, NULL, "saved: |got NULL"),
        ROW(memory, NULL, "memory: expected an address, got NULL"),
        ROW(size, 87, "size: expected at least the 88 bytes of a header, got 87"),
        ROW(size, right.size - 1, "size: expected the 258 bytes that were written, got 257"),
        ROW(saved, wide.saved, "memory: channels: expected 4 as of layer \"first\", got 3"),
        ROW(saved, plain.saved, "memory: activation: expected 0 as of layer \"first\", got 1"),
        ROW(saved, clamped.saved, "memory: eps_mode: expected 1 as of layer \"first\", got 0"),
        ROW(at, 12, NULL),
        ROW(change, 3, "memory: version: expected 2, got 1"),
        ROW(change, 1, "memory: expected what sbn_saved_store has written, got other"),
        ROW(at, 112, NULL),
        ROW(change, 1, "memory: replica 0: expected a mask of the CPU form of kernels, got one"),
    };
    REFUSE("load", load, right, state, rows);
    /* A header alone, which says so. */
    unsigned char short_of[88];
    memcpy(short_of, bytes, sizeof short_of);
    short_of[16] = sizeof short_of;
    short_of[17] = 0;
    REFUSED(sbn_saved_load(target, short_of, sizeof short_of),
            "size: expected at least 200 bytes, got 88");
    bytes[16] += 8;
    REFUSED(sbn_saved_load(target, bytes, size + 8), "memory: expected no more masks, got 8 bytes");
    bytes[16] -= 8;
    /* Each byte matters but those of frozen, pass, place and count; nothing beyond is touched. */
    int odd = 0, refused = 0;
    for (size_t at = 0; at < 128; ++at)
        for (int bit = 0; bit <= 8; ++bit) {
            unsigned char *copy = malloc(size);
            memcpy(copy, bytes, size);
            copy[at] = bit < 8 ? (unsigned char)(copy[at] ^ 1 << bit) : 0;
            const int status = sbn_saved_load(target, copy, size);
            refused += status == SBN_INVALID_ARGUMENT;
            odd += status && status != SBN_INVALID_ARGUMENT;
            free(copy);
        }
    tap_ok(!odd && refused == 864, "%d of 1152 changed bytes of the headers are refused", refused);
    expect(WITH_FAILURE(WRAP_READ, 2, sbn_saved_store(l.saved, again, ROOM, &size)),
           CL_OUT_OF_RESOURCES, "", "a mask that cannot be read");
    expect(WITH_FAILURE(WRAP_WRITE, 1, sbn_saved_load(target, bytes, size)), CL_OUT_OF_RESOURCES,
           "", "a mask that cannot be written");
    /* Frozen, and of another pass, place and count. */
    ++bytes[SBN_SAVED_PASS - 12], ++bytes[SBN_SAVED_PASS], ++bytes[SBN_SAVED_PASS + 4], ++bytes[80];
    must(sbn_saved_load(target, bytes, size), "sbn_saved_load");
    must(sbn_saved_store(target, again, ROOM, &size), "sbn_saved_store");
    tap_ok(memcmp(again, bytes, size) == 0, "what is loaded is stored as it was");
    sbn_saved_destroy(target);
    fixture_end(wide.layer, wide.saved);
    fixture_end(plain.layer, plain.saved);
    fixture_end(clamped.layer, clamped.saved);
    fixture_die(&l);
}

/* A slope counts as the float to which it is rounded, where it is used. */
static void check_slopes(void)
{
    static const struct {
        sbn_activation activation;
        double of, into;
        const char *words;
    } cases[] = {
        {SBN_LEAKY_RELU, 0.25, 0.25 + 1e-12, ""},
        {SBN_LEAKY_RELU, 0.25, 0.5, "memory: slope: expected 0.5 as of layer \"first\", got 0.25"},
        {SBN_LEAKY_RELU, 1e-60, -1e-60, "memory: slope: expected -0 as of layer \"first\", got 0"},
        {SBN_RELU, 0.25, 0.5, ""},
    };
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        sbn_batchnorm_config as = {.name = "first",
                                   .channels = CHANNELS,
                                   .residual = 1,
                                   .activation = cases[i].activation,
                                   .slope = cases[i].of};
        const life from = fixture_live(group, as);
        as.slope = cases[i].into;
        const life into = fixture_live(group, as);
        size_t size = 0;
        must(sbn_forward(from.layer, &shard, from.saved, 0, NULL), "sbn_forward");
        must(sbn_saved_store(from.saved, bytes, ROOM, &size), "sbn_saved_store");
        expect(sbn_saved_load(into.saved, bytes, size),
               *cases[i].words ? SBN_INVALID_ARGUMENT : SBN_SUCCESS, cases[i].words, "a slope");
        fixture_end(from.layer, from.saved);
        fixture_end(into.layer, into.saved);
    }
    must(sbn_group_destroy(group), "sbn_group_destroy");
}

/* Into statistics that were made for a group of fewer replicas. */
static void check_moved(void)
{
    sbn_group *many = fixture_group(queue, 16, SBN_FORM_CPU);
    const life l = live(fixture_group(queue, 1, SBN_FORM_CPU), 1, CHANNELS);
    size_t size = 0;
    must(sbn_forward(l.layer, &shard, l.saved, 0, NULL), "sbn_forward");
    must(sbn_saved_store(l.saved, bytes, ROOM, &size), "sbn_saved_store");
    must(sbn_batchnorm_set_group(l.layer, many), "sbn_batchnorm_set_group");
    REFUSED(sbn_saved_load(l.saved, bytes, size),
            "memory: replicas: expected 16 as of layer \"first\", got 1");
    fixture_die(&l);
    must(sbn_group_destroy(many), "sbn_group_destroy");
}

/* Whether rank 1 loads its second pass. */
static int of_second;

/* Backward from the bytes of the first of two forward passes, or of that. */
static int train_from_bytes(test_rank *m)
{
    unsigned char own[2][ROOM];
    size_t size;
    for (int i = 0; i < 2; ++i) {
        if (rank_forward(m))
            return m->status;
        must(sbn_saved_store(m->saved, own[i], ROOM, &size), "sbn_saved_store");
    }
    must(sbn_saved_load(m->saved, own[of_second && m->rank == 1], size), "sbn_saved_load");
    return rank_says(m, sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS, NULL));
}

static void check_disagreement(void)
{
    test_ranks all;
    ranks_open(&all, &device, 2, NULL, NULL, NULL);
    of_second = 1;
    ranks_do(&all, train_from_bytes);
    rank_expect(&all.of[1], SBN_DISAGREEMENT, "all ranks called backward|",
                "ranks load different passes");
    ranks_close(&all);
}

void checks(void)
{
    slice_open(&data, &device, queue, 0, SAMPLES, 1, 1, 1);
    check_variance();
    for (int option = 0; option < 16; ++option) {
        setting as = {.of.channels = 1, .on_host = option & 4};
        as.of.activation = option & 1 ? SBN_RELU : SBN_IDENTITY;
        as.of.layout = option & 2 ? SBN_LAYOUT_NHWC : SBN_LAYOUT_NCHW;
        as.form = option & 8 ? SBN_FORM_GPU : SBN_FORM_CPU;
        check_eps(as);
        check_clamped(as);
    }
    slice_close(&data);
    slice_open(&batch, &device, queue, 0, 4, CHANNELS, PLANE, 90);
    shard = batch.shard;
    shard.residual = shard.dy;
    check_bytes_of_two_passes();
    check_refused();
    check_slopes();
    check_moved();
    ranks_same_bits(&device, train_from_bytes, "backward from bytes");
    check_disagreement();
    slice_close(&batch);
}
