#include "layer/mask.h"

#include "plan/launch_plan.h"
#include "plan/sizes.h"
#include "program/kernel_constants.h"

/* The elements between which no two work-items of the apply kernel write a word: a sample's, ... */
static size_t row_of(const sbn_shape *shape, const sbn_replica *replica)
{
    const size_t plane = shape->layout == SBN_LAYOUT_NCHW ? shape->plane : 1;
    /* ... a plane's, or, channels last, a pixel's. */
    return sbn__plan_apply(shape, replica).walk == SBN_WALK_PLANES ? plane
                                                                   : shape->channels * plane;
}

int sbn__mask_is_padded(const sbn_shape *shape, sbn_kernel_form form)
{
    const size_t plane = shape->layout == SBN_LAYOUT_NCHW ? shape->plane : 1;
    return shape->channels * plane % (size_t)sbn__mask_bits(form) != 0;
}

int sbn__mask_prepare(sbn_mask *mask, sbn_replica *replica, const sbn_shape *shape)
{
    if (shape->elements == 0)
        return SBN_SUCCESS;
    const size_t bits = (size_t)sbn__mask_bits(replica->form);
    const size_t row = row_of(shape, replica), padded = sbn__round_up(row, bits);
    /* Kernels read a word more than they need. */
    const size_t words = shape->elements / row * (padded / bits) + 1;
    const size_t size = words * (size_t)sbn__mask_word(replica->form);
    mask->next = (sbn_mask_rows){row, UINT64_MAX / row, (cl_uint)(padded - row)};
    return mask->words.size >= size ? SBN_SUCCESS : sbn__reserve(replica, &mask->larger, size);
}

void sbn__mask_begin(sbn_mask *mask)
{
    mask->rows = mask->next;
    if (!mask->larger.mem)
        return;
    sbn__release_buffer(&mask->words);
    mask->words = mask->larger;
    mask->larger = (sbn_device_buffer){NULL, 0, 0};
}

void sbn__mask_destroy(sbn_mask *mask)
{
    sbn__release_buffer(&mask->words);
    sbn__release_buffer(&mask->larger);
}
