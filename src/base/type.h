/* The types that elements of tensors are stored in. */
#pragma once

#include <syncbn/tensor.h>

enum { SBN_TYPES = SBN_BF16 + 1 };

/* Bytes of an element. */
static inline size_t sbn__type_size(sbn_type type)
{
    return type == SBN_F32 ? sizeof(float) : sizeof(uint16_t);
}

/* "SBN_F16" */
static inline const char *sbn__type_name(sbn_type type)
{
    static const char *const names[SBN_TYPES] = {"SBN_F32", "SBN_F16", "SBN_BF16"};
    return names[type];
}
