/*
 * Saved statistics as bytes: which bytes are refused; ranks. Backward and recomputation from loaded
 * ones: tests/pass/same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "support/ranks.h"

enum { CHANNELS = 3, PLANE = 33, ROOM = 4096 };

static fixture device;
static cl_command_queue queue;
static unsigned char bytes[ROOM];

/* With a residual and a ReLU, whose signs are saved, too. */
static sbn_batchnorm *layer_of(sbn_group *group, int is_masked, size_t channels)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    sbn_batchnorm *made;
    config.name = "first";
    config.channels = channels;
    config.residual = is_masked;
    config.activation = is_masked ? SBN_RELU : SBN_IDENTITY;
    must(sbn_batchnorm_create(group, &config, &made), "sbn_batchnorm_create");
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

/* Two passes over the same batch leave the same bytes, but for the number of the pass. */
static void check_pass_number(void)
{
    static unsigned char of[2][ROOM];
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, 0, CHANNELS);
    sbn_saved *saved = fixture_saved(layer);
    slice slices[1];
    sbn_shard shards[1];
    size_t size = 0;
    open_shards(slices, shards, 1);
    for (int i = 0; i < 2; ++i) {
        must(sbn_forward(layer, shards, saved, 0, NULL), "sbn_forward");
        must(sbn_saved_store(saved, of[i], ROOM, &size), "sbn_saved_store");
    }
    const int differ = memcmp(of[0], of[1], size) != 0;
    for (int i = 0; i < 2; ++i)
        memset(of[i] + SBN_SAVED_PASS, 0, SBN_SAVED_PASS_SIZE);
    tap_ok(differ && memcmp(of[0], of[1], size) == 0,
           "the bytes of two passes differ in SBN_SAVED_PASS alone");
    slice_close(&slices[0]);
    fixture_end(layer, saved);
    sbn_group_destroy(group);
}

/* --- what is refused ------------------------------------------------------------------- */

static void check_refused(void)
{
    sbn_group *group = fixture_group(queue, 1, SBN_FORM_CPU);
    sbn_batchnorm *layer = layer_of(group, 1, CHANNELS), *wide = layer_of(group, 1, CHANNELS + 1);
    sbn_batchnorm *plain = layer_of(group, 0, CHANNELS);
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
    must(sbn_forward(plain, shards, of_plain, 0, NULL), "sbn_forward");
    must(sbn_saved_store(of_plain, NULL, 0, &size), "sbn_saved_store");
    tap_ok(size == 88 + 40 + 24 * CHANNELS, "the bytes of one replica: %zu", size);
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
    const long before = sbn__handles_open();
    check_pass_number();
    check_refused();
    check_ranks();
    tap_ok(sbn__handles_open() == before, "%ld handles left", sbn__handles_open() - before);
}

int main(void)
{
    return fixture_main(&device, &queue, checks);
}
