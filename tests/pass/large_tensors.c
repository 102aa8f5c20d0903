/*
 * Passes over more than 2^32 elements, 8.9 GB of bfloat16s in one shard, in a few megabytes: the
 * samples are equal, and all but the first and the last of a tensor lie in the same memory, mapped
 * again and again. The samples are a power of two, so that mean and variance are exactly those of
 * one sample, and every output must have the bits of a batch of one.
 *
 * A driver for CPUs hands kernels the host's address. None takes buffers of such a size: each is
 * told the first pages, and the library, by the wrapped query, the size of the whole.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check/mix.h"
#include "support/main.h"
#include "support/trial.h"
#include "support/wraps.h"

/* 2^32 elements are no whole number of samples: an index that wraps meets another channel. */
enum { CHANNELS = 33, SIDE = 128, PLANE = SIDE * SIDE, SAMPLE = CHANNELS * PLANE, SAMPLES = 8192 };
enum { NAMED = 1 << 20, TYPE_SIZE = 2 };
static const size_t sample_bytes = (size_t)TYPE_SIZE * SAMPLE;

typedef struct tensor {
    unsigned char *at;
    size_t samples;
    cl_mem mem;
} tensor;

enum { X, Y, DY, DX, TENSORS };

static tensor large[TENSORS], one[TENSORS];

WRAP(cl_int, clGetMemObjectInfo,
     (cl_mem mem, cl_mem_info what, size_t size, void *value, size_t *needed))
{
    const cl_int code = __real_clGetMemObjectInfo(mem, what, size, value, needed);
    for (int i = 0; i < TENSORS && what == CL_MEM_SIZE && code == CL_SUCCESS; ++i)
        if (mem == large[i].mem || mem == one[i].mem)
            *(size_t *)value = sample_bytes * (mem == one[i].mem ? 1 : large[i].samples);
    return code;
}

/* Of a file without a name: sample 0 of the tensor, all between, and the last one. */
static int tensor_open(tensor *t, size_t samples)
{
    char name[] = "/tmp/syncbn-large-XXXXXX";
    const size_t parts = samples > 2 ? 3 : samples;
    cl_int code;
    *t = (tensor){NULL, samples, NULL};
    unsigned char *at = mmap(NULL, samples * sample_bytes, PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return 0;
    t->at = at;
    const int file = mkstemp(name);
    must(file < 0, "mkstemp");
    unlink(name);
    must(ftruncate(file, (off_t)(parts * sample_bytes)), "ftruncate");
    for (size_t n = 0; n < samples; ++n) {
        const size_t part = n == 0 ? 0 : n + 1 < samples ? 1 : parts - 1;
        if (mmap(at + n * sample_bytes, sample_bytes, PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_FIXED, file, (off_t)(part * sample_bytes)) == MAP_FAILED) {
            close(file);
            return 0;
        }
    }
    close(file);
    t->mem = clCreateBuffer(device.context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, NAMED, at,
                            &code);
    must(code, "clCreateBuffer");
    return 1;
}

static void tensor_close(tensor *t)
{
    if (t->mem)
        clReleaseMemObject(t->mem);
    if (t->at)
        munmap(t->at, t->samples * sample_bytes);
    *t = (tensor){NULL, 0, NULL};
}

/* Values of bfloat16s between 1/4 and 4, of either sign; of seed 0, zeros. */
static void fill(const tensor *t, unsigned seed)
{
    const size_t parts[] = {0, t->samples / 2, t->samples - 1};
    for (int p = 0; p < 3; ++p) {
        uint16_t *values = (uint16_t *)(void *)(t->at + parts[p] * sample_bytes);
        for (size_t i = 0; i < SAMPLE; ++i) {
            const uint64_t bits = mix(seed, i);
            values[i] = seed ? (uint16_t)(0x3e80u + (bits >> 55) + (bits << 15)) : 0;
        }
    }
}

static int is_sample(const tensor *t, size_t n, const tensor *of)
{
    return memcmp(t->at + n * sample_bytes, of->at, sample_bytes) == 0;
}

/* The shards of a call: `samples` of the tensors, from `first` on. */
typedef struct part {
    const tensor *tensors;
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
    must(sbn_forward(l.layer, shards, l.saved, 0, NULL), "sbn_forward");
    must(sbn_backward(l.layer, shards, l.saved, 0, NULL), "sbn_backward");
    must(clFinish(queue), "clFinish");
    fixture_die(&l);
}

static int open_all(tensor *tensors, size_t samples)
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
        must(sbn_forward(l.layer, &s, l.saved, 0, NULL), "sbn_forward");
        must(sbn_backward(l.layer, &s, l.saved, 0, NULL), "sbn_backward");
        must(clFinish(queue), "clFinish");
        s.y.mem = large[Y].mem;
        s.dx.mem = large[DX].mem;
        s.y_pitch = s.dx_pitch = PER + gap;
    }
    for (int i = Y; i <= DX; i += DX - Y)
        for (size_t n = 0; n < FEW; ++n)
            right = right && memcmp(large[i].at + TYPE_SIZE * n * (PER + gap),
                                    one[i].at + TYPE_SIZE * n * PER, TYPE_SIZE * PER) == 0;
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
        tap_skip("%zu GB of address space cannot be mapped",
                 TENSORS * SAMPLES * sample_bytes >> 30);
    }
    for (int i = 0; i < TENSORS; ++i) {
        tensor_close(&large[i]);
        tensor_close(&one[i]);
    }
}
