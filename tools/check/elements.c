#include "check/elements.h"

#include <math.h>
#include <string.h>

#include "safetensors/half.h"

const char *const type_names[SBN_TYPES] = {
    [SBN_F32] = "f32",
    [SBN_F16] = "f16",
    [SBN_BF16] = "bf16",
};

static uint16_t narrow(sbn_type type, float value)
{
    return type == SBN_F16 ? sbn__half_of_float(value) : sbn__bfloat_of_float(value);
}

static float widen(sbn_type type, uint16_t bits)
{
    return type == SBN_F16 ? sbn__float_of_half(bits) : sbn__float_of_bfloat(bits);
}

float element_round(sbn_type type, float value)
{
    return type == SBN_F32 ? value : widen(type, narrow(type, value));
}

float element_step(sbn_type type, float value)
{
    const float size = fabsf(value);
    if (type == SBN_F32)
        return nextafterf(size, INFINITY) - size;
    return widen(type, (uint16_t)(narrow(type, size) + 1)) - size;
}

void elements_pack(sbn_type type, const float *values, size_t count, void *elements)
{
    if (type == SBN_F32) {
        memcpy(elements, values, count * sizeof *values);
        return;
    }
    for (size_t i = 0; i < count; ++i)
        ((uint16_t *)elements)[i] = narrow(type, values[i]);
}

void elements_unpack(sbn_type type, const void *elements, size_t count, float *values)
{
    if (type == SBN_F32) {
        memcpy(values, elements, count * sizeof *values);
        return;
    }
    for (size_t i = 0; i < count; ++i)
        values[i] = widen(type, ((const uint16_t *)elements)[i]);
}

void elements_spoil(sbn_type type, size_t count, void *elements)
{
    const float value = type == SBN_F16 ? -63520.0f : -7.7777e33f;
    for (size_t i = 0; i < count; ++i)
        elements_pack(type, &value, 1, (char *)elements + i * sbn__type_size(type));
}
