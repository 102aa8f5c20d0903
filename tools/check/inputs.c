#include "check/inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/mix.h"
#include "check/elements.h"
#include "exact/format.h"

/* What each random number is for: no two uses share a stream. */
enum stream {
    STREAM_X,
    STREAM_DY,
    STREAM_SHIFT,
    STREAM_SCALE,
    STREAM_WEIGHT,
    STREAM_BIAS,
    STREAM_WEIGHT_BEFORE,
    STREAM_BIAS_BEFORE,
    STREAM_MEAN,
    STREAM_VAR,
    STREAM_RESIDUAL
};

static uint64_t key(uint64_t seed, enum stream stream, uint64_t place)
{
    return mix(mix(seed, stream), place);
}

/* The magnitudes of kinds that depend on what a type can hold. */
static const struct {
    int wide_least, wide_count;        /* exponents of `wide` */
    int huge;                          /* exponent of `huge` */
    int denormal_bits, denormal_least; /* of `denormal`: bits with the sign, the last's exponent */
    float outlier, largest;
    int exact_mean; /* largest mean of `exact` */
} magnitudes[SBN_TYPES] = {
    [SBN_F32] = {-40, 81, 80, 20, -149, 1e6f, 0x1p127f, 2000},
    [SBN_F16] = {-14, 27, 13, 11, -24, 6e4f, 0x1p15f, 2000},
    [SBN_BF16] = {-40, 81, 80, 8, -133, 1e6f, 0x1p127f, 240},
};

/* A small spread around a value: where the type is too coarse for it, so many steps of the type. */
static float spread_around(sbn_type type, float at, float spread, float steps)
{
    return fmaxf(spread, steps * element_step(type, at));
}

/* Sums of exact data need no rounding while the library sums planes in blocks of this size. */
enum { EXACT_BLOCK = 1024 };

static int power_of_two(size_t n)
{
    return (n & (n - 1)) == 0;
}

/*
 * Integers that come in pairs of opposite sign around an offset, so that every
 * block of a plane has a sum that is known: the block's mean is the offset,
 * exactly. It is the channel's mean, large against the spread, and changes
 * from sample to sample in pairs of opposite sign too: the channel's mean is an
 * integer and no sum of the batch needs rounding. An offset other than 0 needs
 * a power of two of elements in each block, for else the reciprocal that forms
 * the mean would round. Where it does, the two of a pair stand in neighbouring
 * lanes of the reduction: their roundings mirror each other and cancel.
 */
static void fill_exact(float *plane, size_t n, uint64_t k, int offset)
{
    offset = power_of_two(n % EXACT_BLOCK) ? offset : 0;
    for (size_t i = 0; i < n; ++i) {
        uint64_t bits = mix(k, i / 2);
        int distance = i + 1 == n && n % 2 ? 0 : 1 + (int)(bits % 3);
        int sign = (bits >> 8 & 1) == (i & 1) ? 1 : -1;
        plane[i] = (float)(offset + sign * distance);
    }
}

/* The offset of a sample's plane: see above. Pairs need planes of one size. */
static int exact_offset(const problem *p, uint64_t seed, size_t s, size_t c)
{
    const int most = magnitudes[p->type].exact_mean;
    int mean = (int)(key(seed, STREAM_SHIFT, c) % (uint64_t)(2 * most + 1)) - most;
    int step = (int)(mix(key(seed, STREAM_SCALE, c), s / 2) % 5);
    if (p->has_sizes)
        return 0;
    if (s % 2 == 0 && s + 1 == p->samples)
        return mean;
    return s % 2 ? mean - step : mean + step;
}

/* One plane: channel c of one sample, whose own key is k. */
static void fill_plane(float *plane, size_t n, sbn_type type, data_kind kind, uint64_t seed,
                       size_t c, uint64_t k)
{
    const uint64_t scale = key(seed, STREAM_SCALE, c);
    const float shift = mix_uniform(key(seed, STREAM_SHIFT, c));
    const float spread = 1.0f + 0.5f * mix_uniform(scale);
    const int wide = (int)(scale % (uint64_t)magnitudes[type].wide_count) +
                     magnitudes[type].wide_least;
    const int bits_of_denormal = magnitudes[type].denormal_bits;
    const float near_1000 = spread_around(type, 1000.0f, 0.003f, 0.75f);
    const float near_1 = spread_around(type, 1.0f, 1e-5f, 0.75f);
    const float centre = element_round(type, shift);
    const float tiny = spread_around(type, centre, 1e-5f, 0.2f);
    const float step = c % 3 == 0 ? 10.0f : c % 3 == 1 ? 100.0f : 1000.0f;

    for (size_t i = 0; i < n; ++i) {
        uint64_t bits = mix(k, i);
        float normal = mix_normal(bits);
        /* The elements that the library takes a pivot from. */
        const int is_first = i % SBN_BLOCK < SBN_LANES;
        const int is_peak = i % SBN_BLOCK == SBN_LANES + c % SBN_LANES;
        switch (kind) {
        case DATA_LARGE_MEAN: plane[i] = 1000.0f + near_1000 * mix_uniform(bits); break;
        case DATA_ONE: plane[i] = 1.0f + near_1 * mix_uniform(bits); break;
        case DATA_TINY_VAR: plane[i] = centre + tiny * normal; break;
        case DATA_CONSTANT: plane[i] = shift; break;
        case DATA_ZERO: plane[i] = 0; break;
        case DATA_ZEROS: plane[i] = bits >> 63 ? -0.0f : 0.0f; break;
        case DATA_DENORMAL:
            plane[i] = ldexpf((float)((int32_t)(bits >> (64 - bits_of_denormal)) -
                                      (1 << (bits_of_denormal - 1))),
                              magnitudes[type].denormal_least);
            break;
        case DATA_WIDE: plane[i] = ldexpf(1, wide) * (shift + spread * normal); break;
        case DATA_HUGE: plane[i] = ldexpf(shift + spread * normal, magnitudes[type].huge); break;
        case DATA_BORDER: plane[i] = is_first ? 0 : shift + spread * (10.0f + normal); break;
        case DATA_STEP: plane[i] = shift + spread * (normal + (is_first ? step : 0)); break;
        case DATA_PEAK: plane[i] = shift + spread * (normal + (is_peak ? 1000.0f : 0)); break;
        case DATA_LARGEST: plane[i] = copysignf(magnitudes[type].largest, normal); break;
        default: plane[i] = shift + spread * normal;
        }
        plane[i] = element_round(type, plane[i]);
    }
}

/* The first, or the last, sample that has elements. */
static size_t end_sample(const placement *g, int last)
{
    size_t s = last ? g->samples - 1 : 0;
    while (g->sample[s].plane == 0)
        s += last ? (size_t)-1 : 1;
    return s;
}

/* The values that make a kind what it is: an outlier, a NaN, infinities. */
static void fill_special(const placement *g, sbn_type type, float *tensor, data_kind kind)
{
    if (g->values == 0)
        return;
    if (kind == DATA_OUTLIER) {
        const size_t s = end_sample(g, 0);
        for (size_t c = 0; c < g->channels; ++c)
            tensor[placement_plane_start(g, s, c)] = element_round(type, magnitudes[type].outlier);
    }
    const float infs[] = {INFINITY, -INFINITY};
    for (int last = 0; kind == DATA_INFS && last < 2; ++last)
        tensor[placement_plane_start(g, end_sample(g, last), g->channels / 2)] = infs[last];
    const float middle = kind == DATA_NAN    ? NAN
                         : kind == DATA_INF  ? INFINITY
                         : kind == DATA_NINF ? -INFINITY
                                             : 0;
    size_t s = g->samples / 2;
    while (middle != 0 && g->sample[s].plane == 0)
        s = (s + 1) % g->samples;
    if (middle != 0)
        tensor[placement_plane_start(g, s, g->channels / 2) + g->sample[s].plane / 2] = middle;
}

static void fill(const problem *p, const placement *g, enum stream stream, data_kind kind,
                 float *tensor)
{
    uint64_t seed = mix(p->seed, stream);
    for (size_t s = 0; s < g->samples; ++s) {
        for (size_t c = 0; c < g->channels; ++c) {
            float *plane = tensor + placement_plane_start(g, s, c);
            size_t n = g->sample[s].plane;
            uint64_t k = mix(mix(seed, s), c);
            if (kind == DATA_EXACT)
                fill_exact(plane, n, k, exact_offset(p, seed, s, c));
            else
                fill_plane(plane, n, p->type, kind, seed, c, k);
        }
    }
    fill_special(g, p->type, tensor, kind);
}

/* Weights of both signs, none near 0, where relative errors would mean little. */
static float weight(uint64_t bits)
{
    float size = 1.0f + 0.5f * mix_uniform(bits);
    return bits & 1 ? size : -size;
}

static void fill_channels(const problem *p, size_t channels, inputs *in)
{
    for (size_t c = 0; c < channels; ++c) {
        in->weight[c] = weight(key(p->seed, STREAM_WEIGHT, c));
        in->bias[c] = mix_normal(key(p->seed, STREAM_BIAS, c));
        in->weight_before[c] = mix_normal(key(p->seed, STREAM_WEIGHT_BEFORE, c));
        in->bias_before[c] = mix_normal(key(p->seed, STREAM_BIAS_BEFORE, c));
        in->running_mean[c] = mix_normal(key(p->seed, STREAM_MEAN, c));
        in->running_var[c] = 1.5f + mix_uniform(key(p->seed, STREAM_VAR, c));
    }
}

int inputs_make(const problem *p, const placement *g, inputs *in)
{
    memset(in, 0, sizeof *in);
    for (float **array = in->arrays; array < in->arrays + INPUT_ARRAYS; ++array) {
        if (array == &in->residual && !p->residual)
            continue;
        const size_t size = array < in->arrays + INPUT_TENSORS ? g->elements + 1 : g->channels;
        *array = malloc(size * sizeof(float));
        if (!*array) {
            inputs_free(in);
            return SBN_OUT_OF_MEMORY;
        }
    }
    fill(p, g, STREAM_X, p->data, in->x);
    fill(p, g, STREAM_DY, p->grad, in->dy);
    if (p->residual)
        fill(p, g, STREAM_RESIDUAL, DATA_NORMAL, in->residual);
    fill_channels(p, g->channels, in);
    in->batches = 3;
    return SBN_SUCCESS;
}

void inputs_free(inputs *in)
{
    for (int i = 0; i < INPUT_ARRAYS; ++i)
        free(in->arrays[i]);
    memset(in, 0, sizeof *in);
}
