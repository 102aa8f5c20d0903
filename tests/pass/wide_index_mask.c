/*
 * The mask of channels whose planes begin beyond 2^32 elements of a sample, without the memory of such
 * a tensor: a reduction of the GPU form, whose planes have rows of their own in the mask, is moved to
 * a channel in reserved addresses. Its accumulator must be that of a tensor of this channel alone.
 */
#include <stdio.h>
#include <string.h>

#include "base/activation.h"
#include "check/mix.h"
#include "exact/format.h"
#include "group/group.h"
#include "launch/combining.h"

#include "support/address_space.h"
#include "support/main.h"
#include "support/wraps.h"

/* A plane of this channel begins behind 2^32 elements; its rows have a bit more than elements. */
enum { CHANNEL = 1 << 26, PLANE = 67, WORDS = (PLANE + 3) / 4, LENGTH = 16 };

static const char begin[] = "get_group_id(0) << log2_strip";

enum { X, DY, TABLE, MASK, PARTIAL, SPACES };

static address_space spaces[SPACES];

/* Addresses for so many channels. */
static int open_spaces(size_t channels)
{
    const size_t floats[SPACES] = {
        [X] = channels * PLANE,
        [DY] = channels * PLANE,
        [TABLE] = 3 * channels,
        [MASK] = channels * WORDS / sizeof(float) + 1,
        [PARTIAL] = 2 * channels * LENGTH,
    };
    int opened = 1;
    for (int i = 0; i < SPACES; ++i)
        opened = address_space_open(&spaces[i], device.context, floats[i]) && opened;
    return opened;
}

static void close_spaces(void)
{
    for (int i = 0; i < SPACES; ++i)
        address_space_close(&spaces[i]);
}

/* x, dy and the mask's words of the last channel. */
static void fill(size_t channels)
{
    unsigned char *const words = (unsigned char *)spaces[MASK].at + (channels - 1) * WORDS;
    for (size_t i = 0; i < PLANE; ++i)
        for (int k = X; k <= DY; ++k)
            spaces[k].at[(channels - 1) * PLANE + i] =
                (float)(mix((uint64_t)k, i) >> 40) * 0x1p-23f - 0.75f;
    for (size_t i = 0; i < WORDS; ++i)
        words[i] = (unsigned char)(mix(MASK, i) >> 60);
}

static void launch(sbn_replica *replica, size_t channels)
{
    const cl_mem table = spaces[TABLE].mem;
    const sbn_backward_reduce_arguments own = {
        .x = spaces[X].mem,
        .dy = spaces[DY].mem,
        .coefficients = table,
    };
    const sbn_activation_arguments fused = {
        .weights = table,
        .biases = table,
        .mask = spaces[MASK].mem,
        .mask_row = PLANE,
        .mask_reciprocal = UINT64_MAX / PLANE,
        .mask_padding = 4 * WORDS - PLANE,
    };
    const sbn_slice_arguments of_both = {
        .channels = (cl_uint)channels,
        .plane = PLANE,
        .blocks = 1,
        .per_slice = 1,
        .last_reciprocal = 1.0f / PLANE,
        .partial = spaces[PARTIAL].mem,
        .wide = spaces[PARTIAL].mem,
    };
    const sbn_gpu_slice_arguments of_gpu = {.units = 1};
    const sbn_combining none = sbn__combining_none(of_both.partial, SBN_TAIL_NONE);
    const sbn_group_config config = {.program_cache = ""};
    const int fusion = sbn__fusion_of(SBN_RELU, 1, 0), part = sbn__part_of_reductions(1, 0, 0);
    sbn_arguments arguments = {.count = 0};
    sbn__add_backward_reduce(&arguments, &own);
    sbn__add_activation(&arguments, &fused);
    sbn__add_tail_of(&arguments, &none, 0, replica);
    sbn__add_slice(&arguments, &of_both);
    sbn__add_gpu_slice(&arguments, &of_gpu);
    must(sbn__replica_load(replica, SBN_F32, fusion, part, &config), "sbn__replica_load");
    sbn_kernels *kernels = replica->kernels[SBN_F32][sbn__variant_of(fusion, part)];
    run_kernel(replica, &kernels->backward_reduce[SBN_REDUCE_LARGE_PLANES], &arguments, 2,
               (const size_t[]){1, 1});
}

/* The accumulator of the last of so many channels, from where work-groups begin; 0: there is no room. */
static int sum(size_t channels, int64_t *out)
{
    const size_t length = sbn__accumulator_length(&sbn_backward_narrow);
    const int opened = open_spaces(channels);
    if (opened) {
        sbn_group *group = fixture_group(queue, 1, SBN_FORM_GPU);
        fill(channels);
        launch(group->replicas, channels);
        memcpy(out, (int64_t *)(void *)spaces[PARTIAL].at + (channels - 1) * length,
               sizeof *out * length);
        must(sbn_group_destroy(group), "sbn_group_destroy");
    }
    close_spaces();
    return opened;
}

void checks(void)
{
    int64_t near_sums[LENGTH] = {0}, far_sums[LENGTH] = {0};
    char instead[80];
    must(!sum(1, near_sums), "a small tensor");
    snprintf(instead, sizeof instead, "(uint)(get_group_id(0) + %d) << log2_strip", CHANNEL);
    wraps_replace(begin, instead);
    if (sum((size_t)CHANNEL + 1, far_sums))
        tap_ok(wraps_replaced() > 0 && near_sums[1] != 0 &&
                   memcmp(near_sums, far_sums, sizeof near_sums) == 0,
               "channel %d of planes of %d, whose mask is padded", CHANNEL, PLANE);
    else
        tap_skip("%zu GB of address space cannot be reserved", (size_t)CHANNEL * PLANE >> 27);
    wraps_replace(NULL, NULL);
}
