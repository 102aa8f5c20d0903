/*
 * Passes over more than 2^32 elements, 8.9 GB of bfloat16s in one shard, in a few megabytes: the samples are equal, and
 * all but the first and the last of a tensor lie in the same memory, mapped again and again. The samples are a power of
 * two, so that mean and variance are exactly those of one sample, and every output must have the bits of a batch of
 * one. The buffers name the first pages (tests/support/address_space.h): the library is told the size of the whole.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/mix.h"
#include "support/address_space.h"
#include "support/main.h"
#include "support/trial.h"
#include "support/wraps.h"

/* 2^32 elements are no whole number of samples: an index that wraps meets another channel. */
enum { CHANNELS = 33, SIDE = 128, PLANE = SIDE * SIDE, SAMPLE = CHANNELS * PLANE, SAMPLES = 8192 };
enum { TYPE_SIZE = 2 };
static const size_t sample_bytes = (size_t)TYPE_SIZE * SAMPLE;

enum { X, Y, DY, DX, TENSORS };

static address_space large[TENSORS], one[TENSORS];

WRAP(cl_int, clGetMemObjectInfo,
     (cl_mem mem, cl_mem_info what, size_t size, void *value, size_t *needed))
{
    const cl_int code = __real_clGetMemObjectInfo(mem, what, size, value, needed);
    for (int i = 0; i < TENSORS && what == CL_MEM_SIZE && code == CL_SUCCESS; ++i)
        if (mem == large[i].mem || mem == one[i].mem)
            *(size_t *)value = mem == one[i].mem ? one[i].bytes : large[i].bytes;
    return code;
}

static unsigned char *sample_of(const address_space *t, size_t n)
{
    return (unsigned char *)t->at + n * sample_bytes;
}

/* Of a file without a name: sample 0 of the tensor, all between, and the last one. */
static int tensor_open(address_space *t, size_t samples)
{
    char name[] = "/tmp/syncbn-large-XXXXXX";
    const size_t parts = samples > 2 ? 3 : samples;
    int mapped = 1;
    if (!address_space_open(t, device.context, samples * sample_bytes / sizeof(float)))
        return 0;
    const int file = mkstemp(name);
    must(file < 0, "mkstemp");
    unlink(name);
    must(ftruncate(file, (off_t)(parts * sample_bytes)), "ftruncate");
    for (size_t n = 0; n < samples && mapped; ++n) {
        const size_t part = n == 0 ? 0 : n + 1 < samples ? 1 : parts - 1;
        mapped = mmap(sample_of(t, n), sample_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                      file, (off_t)(part * sample_bytes)) != MAP_FAILED;
    }
    close(file);
    return mapped;
}

/* Values of bfloat16s between 1/4 and 4, of either sign; of seed 0, zeros. */
static void fill(const address_space *t, unsigned seed)
{
    const size_t samples = t->bytes / sample_bytes, parts[] = {0, samples / 2, samples - 1};
    for (int p = 0; p < 3; ++p) {
        uint16_t *values = (uint16_t *)(void *)sample_of(t, parts[p]);
        for (size_t i = 0; i < SAMPLE; ++i) {
            const uint64_t bits = mix(seed, i);
            values[i] = seed ? (uint16_t)(0x3e80u + (bits >> 55) + (bits << 15)) : 0;
        }
    }
}

static int is_sample(const address_space *t, size_t n, const address_space *of)
{
    return memcmp(sample_of(t, n), sample_of(of, 0), sample_bytes) == 0;
}

/* The shards of a call: `samples` of the tensors, from `first` on. */
typedef struct part {
    const address_space *tensors;
    size_t first, samples;
} part;

/* A group of two replicas, of which one has no samples, is not reduced and applied in one launch. */
static void run(sbn_kernel_form form, sbn_layout layout, size_t replicas, part of)
{
    const life l = LIVE_WITH(fixture_group(queue, replicas, form), .channels = CHANNELS,
                             .layout = layout, .type = SBN_BF16, .affine = OFF);
    const size_t offset = of.first * SAMPLE;
    sbn_shard shards[2] = {
        SHARD_WITH(.dims = 4, .shape = {of.samples, CHANNELS, SIDE, SIDE},
                   .x = {of.tensors[X].mem, offset}, .y = {of.tensors[Y].mem, offset},
                   .dy = {of.tensors[DY].mem, offset}, .dx = {of.tensors[DX].mem, offset})};
    shards[1] = shards[0];
    shards[1].shape[0] = 0;
    fixture_train(&l, shards);
    must(clFinish(queue), "clFinish");
    fixture_die(&l);
}

static int open_all(address_space *tensors, size_t samples)
{
    int opened = 1;
    for (int i = 0; i < TENSORS; ++i)
        opened = tensor_open(&tensors[i], samples) && opened;
    if (opened) {
        fill(&tensors[X], 1);
        fill(&tensors[DY], 2);
    }
    return opened;
}

/* The outputs of a part's first, middle and last sample are those of a batch of one. */
static void check(sbn_kernel_form form, sbn_layout layout, size_t replicas, part of)
{
    static const char *const names[] = {[Y] = "y", [DX] = "dx"};
    const size_t last = of.first + of.samples - 1;
    for (int i = Y; i <= DX; i += DX - Y) {
        fill(&large[i], 0);
        fill(&one[i], 0);
    }
    run(form, layout, replicas, of);
    run(form, layout, replicas, (part){one, 0, 1});
    for (int i = Y; i <= DX; i += DX - Y)
        tap_ok(is_sample(&large[i], of.first, &one[i]) &&
                   is_sample(&large[i], (of.first + last) / 2, &one[i]) &&
                   is_sample(&large[i], last, &one[i]),
               "%s of samples %zu to %zu of %d elements, %s form, channels %s, %zu replicas: as of "
               "one",
               names[i], of.first, last, SAMPLE, form == SBN_FORM_GPU ? "GPU" : "CPU",
               layout == SBN_LAYOUT_NHWC ? "last" : "first", replicas);
}

/* A view whose samples lie 2^31 elements apart, by the one launch of a whole pass: y and dx of dense samples. */
static void check_gaps(void)
{
    enum { FEW = 3, FLAT = 16, PER = CHANNELS * FLAT };
    const size_t gap = (size_t)1 << 31;
    const life l = LIVE_WITH(fixture_group(queue, 1, SBN_FORM_CPU), .channels = CHANNELS,
                             .type = SBN_BF16, .affine = OFF);
    sbn_shard s = SHARD_WITH(.dims = 3, .shape = {FEW, CHANNELS, FLAT}, .x = {one[X].mem},
                             .y = {one[Y].mem}, .dy = {one[DY].mem}, .dx = {one[DX].mem});
    int right = 1;
    for (int view = 0; view < 2; ++view) {
        fixture_train(&l, &s);
        must(clFinish(queue), "clFinish");
        s.y.mem = large[Y].mem;
        s.dx.mem = large[DX].mem;
        s.y_pitch = s.dx_pitch = PER + gap;
    }
    for (int i = Y; i <= DX; i += DX - Y)
        for (size_t n = 0; n < FEW; ++n)
            right = right &&
                    memcmp(sample_of(&large[i], 0) + TYPE_SIZE * n * (PER + gap),
                           sample_of(&one[i], 0) + TYPE_SIZE * n * PER, TYPE_SIZE * PER) == 0;
    tap_ok(right, "y and dx of samples 2^31 elements apart are those of dense ones");
    fixture_die(&l);
}

void checks(void)
{
    if (open_all(large, SAMPLES) && open_all(one, 1)) {
        const part all = {large, 0, SAMPLES};
        /* A small tensor, which begins behind 2^32 elements of its buffers. */
        const part behind = {large, SAMPLES - 1, 1};
        if (!sample_only()) {
            check(SBN_FORM_CPU, SBN_LAYOUT_NCHW, 1, all);
            check(SBN_FORM_CPU, SBN_LAYOUT_NHWC, 2, all);
        }
        for (sbn_kernel_form form = SBN_FORM_CPU; form <= SBN_FORM_GPU; ++form) {
            check(form, SBN_LAYOUT_NCHW, 1, behind);
            check(form, SBN_LAYOUT_NHWC, 1, behind);
        }
        check_gaps();
    } else {
        tap_skip("%zu GB of addresses cannot be mapped", TENSORS * SAMPLES * sample_bytes >> 30);
    }
    for (int i = 0; i < TENSORS; ++i) {
        address_space_close(&large[i]);
        address_space_close(&one[i]);
    }
}
