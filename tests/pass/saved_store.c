/*
 * Saved statistics as bytes: backward and recomputation from loaded ones give the bits of those that
 * were stored, in every kind of group and on ranks; which bytes are refused; every call that fails.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "group/group.h"
#include "support/programs_kept.h"
#include "support/ranks.h"
#include "support/wraps.h"

enum { REPLICAS = 3, CHANNELS = 3, PLANE = 33, ROOM = 4096 };

static fixture device;
static cl_command_queue queue;
static unsigned char bytes[ROOM], equal[ROOM];

typedef struct kind {
    const char *name;
    size_t replicas;
    int host_combines, frozen;
    sbn_kernel_form form;
    int residual;
    sbn_activation activation;
} kind;

static const kind kinds[] = {
    {"one launch", 1, 0, 0, SBN_FORM_CPU, 0, SBN_IDENTITY},
    {"one launch, masked", 1, 0, 0, SBN_FORM_CPU, 1, SBN_RELU},
    {"devices combine, masked", REPLICAS, 0, 0, SBN_FORM_CPU, 1, SBN_LEAKY_RELU},
    {"the host combines", REPLICAS, 1, 0, SBN_FORM_CPU, 0, SBN_RELU},
    {"the host combines, masked", 2, 1, 0, SBN_FORM_CPU, 1, SBN_RELU},
    {"the GPU form, masked", REPLICAS, 0, 0, SBN_FORM_GPU, 1, SBN_RELU},
    {"frozen", 2, 0, 1, SBN_FORM_CPU, 0, SBN_RELU},
};

static sbn_batchnorm *layer_of(sbn_group *group, const kind *k, size_t channels)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.name = "first";
    config.channels = channels;
    config.residual = k->residual;
    config.activation = k->activation;
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
    must(sbn_batchnorm_set_frozen(made, k->frozen), "sbn_batchnorm_set_frozen");
    return made;
}

/* The second shard is empty. dy serves as the residual, and its gradient is not asked for. */
static void open_shards(slice *slices, sbn_shard *shards, size_t replicas)
{
    for (size_t r = 0; r < replicas; ++r) {
        slice_open(&slices[r], &device, queue, 4 * r, r == 1 ? 0 : 4, CHANNELS, PLANE, 90);
        shards[r] = slices[r].shard;
        shards[r].residual = shards[r].dy;
    }
}

static uint64_t digest(const slice *slices, size_t replicas)
{
    uint64_t sum = DIGEST_START;
    for (size_t r = 0; r < replicas; ++r) {
        const slice *s = &slices[r];
        sum = digest_buffer(sum, s, &s->shard.y, s->elements);
        sum = digest_buffer(sum, s, &s->shard.dx, s->elements);
        sum = digest_buffer(sum, s, &s->shard.weight_grad, CHANNELS);
        sum = digest_buffer(sum, s, &s->shard.bias_grad, CHANNELS);
        slice_reset(s);
    }
    return sum;
}

static uint64_t passes(sbn_batchnorm *layer, const slice *slices, const sbn_shard *shards,
                       sbn_saved *saved, size_t replicas)
{
    must(sbn_recompute(layer, shards, saved), "sbn_recompute");
    must(sbn_backward(layer, shards, saved, 0, NULL), "sbn_backward");
    must(clFinish(queue), "clFinish");
    return digest(slices, replicas);
}

static void check_bits(const kind *k)
{
    sbn_group *group = fixture_group(queue, k->replicas, k->form);
    group->combines = group->combines && !k->host_combines;
    sbn_batchnorm *layer = layer_of(group, k, CHANNELS), *other = layer_of(group, k, CHANNELS);
    sbn_saved *saved = fixture_saved(layer), *loaded = fixture_saved(other);
    slice slices[REPLICAS];
    sbn_shard shards[REPLICAS];
    float stats[2][2][CHANNELS];
    uint64_t counts[2];
    size_t size = 0, written = 0;
    open_shards(slices, shards, k->replicas);
    must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
    must(sbn_saved_store(saved, NULL, 0, &size), "sbn_saved_store");
    must(sbn_saved_store(saved, bytes, size, &written), "sbn_saved_store");
    /* What was saved may be gone, and what is loaded may have been full. */
    must(sbn_forward(other, shards, loaded, 0, NULL), "sbn_forward");
    must(clFinish(queue), "clFinish");
    must(sbn_saved_store(loaded, equal, size, &written), "sbn_saved_store");
    memset(bytes + SBN_SAVED_PASS, 0, SBN_SAVED_PASS_SIZE);
    memset(equal + SBN_SAVED_PASS, 0, SBN_SAVED_PASS_SIZE);
    const int alike = k->residual || memcmp(bytes, equal, size) == 0;
    digest(slices, k->replicas);
    const uint64_t right = passes(layer, slices, shards, saved, k->replicas);
    must(sbn_saved_stats(saved, stats[0][0], stats[0][1], &counts[0]), "sbn_saved_stats");
    sbn_saved_destroy(saved);
    saved = fixture_saved(layer);
    must(sbn_saved_load(loaded, bytes, size), "sbn_saved_load");
    must(sbn_saved_load(saved, bytes, size), "sbn_saved_load");
    const uint64_t of_other = passes(other, slices, shards, loaded, k->replicas);
    const uint64_t again = passes(layer, slices, shards, saved, k->replicas);
    must(sbn_saved_stats(loaded, stats[1][0], stats[1][1], &counts[1]), "sbn_saved_stats");
    tap_ok(right == of_other && right == again && size == written && alike &&
               counts[0] == counts[1] && memcmp(stats[0], stats[1], sizeof stats[0]) == 0,
           "%s: the same bits from %zu bytes, also on another layer", k->name, size);
    tap_ok(k->residual || size == 88 + 40 * k->replicas + 24 * CHANNELS, "%s: their number",
           k->name);
    for (size_t r = 0; r < k->replicas; ++r)
        slice_close(&slices[r]);
    fixture_end(layer, saved);
    fixture_end(other, loaded);
    sbn_group_destroy(group);
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    const kind *k = &kinds[1];
    sbn_batchnorm *layer = layer_of(group, k, CHANNELS), *wide = layer_of(group, k, CHANNELS + 1);
    sbn_batchnorm *plain = layer_of(group, &kinds[0], CHANNELS);
    sbn_saved *saved = fixture_saved(layer), *of_wide = fixture_saved(wide),
              *of_plain = fixture_saved(plain), *target = fixture_saved(layer);
    slice slices[1];
    sbn_shard shards[1];
    size_t size = 0;
    float mean[CHANNELS];
    open_shards(slices, shards, 1);
    expect(sbn_saved_store(NULL, bytes, ROOM, &size), SBN_INVALID_ARGUMENT, "saved: |got NULL",
           "store: no handle");
    expect(sbn_saved_store(saved, bytes, ROOM, &size), SBN_INVALID_ARGUMENT,
           "saved: no forward pass has filled it yet", "store: empty");
    must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
    expect(sbn_saved_store(saved, bytes, ROOM, NULL), SBN_INVALID_ARGUMENT,
           "size: expected a place", "store: no place for the size");
    must(sbn_saved_store(saved, NULL, 0, &size), "sbn_saved_store");
    memset(bytes, 7, sizeof bytes);
    expect(sbn_saved_store(saved, bytes, size - 1, &size), SBN_INVALID_ARGUMENT,
           "room: expected at least", "store: too little room");
    tap_ok(bytes[0] == 7, "it writes nothing");
    must(sbn_saved_store(saved, bytes, ROOM, &size), "sbn_saved_store");
    tap_ok(bytes[size] == 7, "nothing behind its bytes");
#define REFUSED(handle, memory, count, words, what) \
    expect(sbn_saved_load(handle, memory, count), SBN_INVALID_ARGUMENT, words, what)
    REFUSED(NULL, bytes, size, "saved: |got NULL", "load: no handle");
    REFUSED(target, NULL, size, "memory: expected an address, got NULL", "load: no memory");
    REFUSED(target, bytes, 87, "size: expected at least the 88 bytes of a header, got 87",
            "load: no header");
    REFUSED(target, bytes, size - 1, "size: expected the |bytes that were written, got",
            "load: a part");
    REFUSED(target, bytes, size + 1, "size: expected the |bytes that were written, got",
            "load: more");
    REFUSED(of_wide, bytes, size, "memory: channels: expected 4 as of layer \"first\", got 3",
            "load: other channels");
    REFUSED(of_plain, bytes, size, "memory: activation: expected 0 as of layer \"first\", got 1",
            "load: another activation");
    bytes[12] ^= 3;
    REFUSED(target, bytes, size, "memory: version: expected 1, got 2", "load: another version");
    bytes[12] ^= 3;
    bytes[0] ^= 1;
    REFUSED(target, bytes, size, "memory: expected what sbn_saved_store has written, got other",
            "load: other bytes");
    bytes[0] ^= 1;
    expect(sbn_saved_stats(target, mean, NULL, NULL), SBN_INVALID_ARGUMENT, "no forward pass",
           "it is still empty");
    sbn_pass *pass;
    must(sbn_backward_begin(layer, shards, saved, 0, &pass), "sbn_backward_begin");
    REFUSED(saved, bytes, size, "saved: expected no pass under way that uses it, got 1",
            "load: in use");
    must(sbn_pass_end(pass, NULL), "sbn_pass_end");
    /* Whatever a byte of the headers or a size is, nothing beyond them is touched. */
    int odd = 0, refused = 0;
    for (size_t at = 0; at < 128; ++at)
        for (int bit = 0; bit < 8; ++bit) {
            unsigned char *copy = malloc(size);
            memcpy(copy, bytes, size);
            copy[at] ^= (unsigned char)(1 << bit);
            const int status = sbn_saved_load(target, copy, size);
            refused += status == SBN_INVALID_ARGUMENT;
            odd += status && status != SBN_INVALID_ARGUMENT;
            free(copy);
        }
    tap_ok(!odd && refused > 128, "%d of 1024 changed bits of the headers are refused", refused);
    slice_close(slices);
    sbn_saved_destroy(target);
    fixture_end(layer, saved);
    fixture_end(wide, of_wide);
    fixture_end(plain, of_plain);
    sbn_group_destroy(group);
}

/* --- failures ---------------------------------------------------------------------------- */

static void check_failures(void)
{
    sbn_group *group = fixture_group(queue, 2, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, &kinds[2], CHANNELS);
    sbn_saved *saved = fixture_saved(layer);
    slice slices[2];
    sbn_shard shards[2];
    size_t size;
    int failed[2] = {0, 0}, silent = 0;
    open_shards(slices, shards, 2);
    must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
    for (int i = 0; i < 2; ++i)
        for (int n = 1, status = 1; status; ++n) {
            sbn_saved *target = fixture_saved(layer);
            wraps_fail(WRAP_ANY, n);
            status = i ? sbn_saved_load(target, bytes, size)
                       : sbn_saved_store(saved, bytes, ROOM, &size);
            wraps_fail(WRAP_ANY, 0);
            failed[i] += status != SBN_SUCCESS;
            silent += status && !sbn_last_error()[0];
            sbn_saved_destroy(target);
        }
    tap_ok(failed[0] > 1 && failed[1] > 5 && !silent,
           "%d calls fail in storing and %d in loading, and are told", failed[0], failed[1]);
    for (size_t r = 0; r < 2; ++r)
        slice_close(&slices[r]);
    fixture_end(layer, saved);
    sbn_group_destroy(group);
}

/* --- ranks ------------------------------------------------------------------------------- */

/* The bytes of the first of two forward passes, or, on the last rank, of the second one. */
static int mixed;

static int train(test_rank *m)
{
    unsigned char own[2][ROOM];
    size_t size;
    for (int i = 0; i < 2; ++i) {
        if (rank_forward(m))
            return m->status;
        must(sbn_saved_store(m->saved, own[i], ROOM, &size), "sbn_saved_store");
    }
    must(sbn_saved_load(m->saved, own[mixed && m->rank == 1], size), "sbn_saved_load");
    return rank_says(m, sbn_backward(m->layer, m->shards, m->saved, SBN_GLOBAL_GRADIENTS, NULL));
}

static void check_ranks(void)
{
    const size_t two[] = {2}, ones[] = {1, 1}, samples[] = {1, 3};
    test_ranks all;
    uint64_t digests[2];
    for (int i = 0; i < 2; ++i) {
        ranks_open(&all, &device, 1 + i, i ? ones : two, samples, NULL);
        ranks_do(&all, train);
        for (int rank = 0; rank <= i; ++rank)
            rank_expect(&all.of[rank], SBN_SUCCESS, "", "backward from bytes");
        digests[i] = ranks_digest(&all);
        if (i) {
            mixed = 1;
            ranks_do(&all, train);
            rank_expect(&all.of[1], SBN_DISAGREEMENT, "all ranks called backward|",
                        "ranks load different passes");
        }
        ranks_close(&all);
    }
    tap_ok(digests[0] == digests[1], "the same bits from two ranks as from one");
}

static void checks(void)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; ++i)
        check_bits(&kinds[i]);
    check_refused();
    check_failures();
    check_ranks();
}

int main(void)
{
    if (fixture_open(&device))
        return fixture_missing();
    queue = fixture_queue(&device, 0);
    const long before = sbn__handles_open();
    checks();
    programs_release();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
    clReleaseCommandQueue(queue);
    fixture_close(&device);
    return tap_done();
}
