#include "plan/shape.h"

#include "base/error.h"
#include "base/text.h"
#include "base/versioned_struct.h"
#include "exact/format.h"

int sbn_shard_init(sbn_shard *shard, size_t size)
{
    const sbn_shard defaults = SBN_SHARD_INIT;
    return sbn__struct_init(shard, size, &defaults, SBN_STRUCT(sbn_shard), "shard");
}

void sbn__print_shape(const sbn_shard *shard, char *out, size_t size)
{
    *out = '\0';
    for (int i = 0; i < shard->dims; ++i)
        sbn__text_add(out, size, "%s%zu", i ? "," : "(", shard->shape[i]);
    sbn__text_add(out, size, ")");
}

_Static_assert(sizeof(size_t) >= 8, "the extents of tensors are multiplied in a size_t of 64 bits");

/* a *= b; 0 where it overflows 2^56, so that sizes in bytes stay far from the type's end. */
static int multiply(size_t *a, size_t b)
{
    if (b != 0 && *a > ((size_t)1 << 56) / b)
        return 0;
    *a *= b;
    return 1;
}

int sbn__shape_of(sbn_shape *shape, const sbn_shard *shard, size_t channels, sbn_layout layout,
                  sbn_type type, const char *who)
{
    char text[128];
    if (shard->dims < 2 || shard->dims > 5)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: dims: expected 2 to 5, got %d", who,
                         shard->dims);
    sbn__print_shape(shard, text, sizeof text);
    if (shard->shape[1] != channels)
        return sbn__fail(SBN_INVALID_ARGUMENT, "%s: shape: expected %zu channels, got %zu in %s",
                         who, channels, shard->shape[1], text);
    size_t plane = 1;
    int fits = 1, empty = shard->shape[0] == 0;
    for (int i = 2; i < shard->dims; ++i) {
        fits = multiply(&plane, shard->shape[i]) && fits;
        empty |= shard->shape[i] == 0;
    }
    size_t values = plane;
    fits = multiply(&values, shard->shape[0]) && fits;
    size_t elements = values;
    fits = multiply(&elements, channels) && fits;
    const size_t blocks = plane / SBN_BLOCK + (plane % SBN_BLOCK != 0);
    const size_t channel_blocks = blocks * shard->shape[0];
    /* Without elements the other extents may be any. */
    if (!empty && (!fits || plane > INT32_MAX || channel_blocks > SBN_MAX_BLOCKS))
        return sbn__fail(SBN_INVALID_ARGUMENT,
                         "%s: shape: %s is too large: a plane may have 2^31 - 1 elements, a "
                         "channel %zu blocks of %d, and sizes must not overflow",
                         who, text, SBN_MAX_BLOCKS, SBN_BLOCK);
    const size_t last = plane - (blocks - 1) * SBN_BLOCK;
    *shape = (sbn_shape){
        .samples = shard->shape[0],
        .channels = channels,
        .plane = plane,
        .values = values,
        .elements = elements,
        .layout = plane == 1 ? SBN_LAYOUT_NHWC : layout,
        .row = layout == SBN_LAYOUT_NCHW ? channels * plane : channels,
        .rows = layout == SBN_LAYOUT_NCHW ? shard->shape[0] : values,
        .type = type,
        .blocks = (cl_uint)blocks,
        .channel_blocks = (cl_uint)channel_blocks,
        .last_reciprocal = (cl_float)(1.0 / (double)last),
    };
    return SBN_SUCCESS;
}
