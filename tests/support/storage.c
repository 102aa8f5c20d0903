#include "support/storage.h"

#include <math.h>
#include <string.h>

/* Bits of the mantissa, and the exponent of the least normal number. */
typedef struct layout {
    const char *name;
    size_t size;
    int mantissa, least;
} layout;

static const layout layouts[] = {
    [SBN_F32] = {"f32", 4, 23, -126},
    [SBN_F16] = {"f16", 2, 10, -14},
    [SBN_BF16] = {"bf16", 2, 7, -126},
};

const char *storage_name(sbn_type type)
{
    return layouts[type].name;
}

size_t storage_size(sbn_type type)
{
    return layouts[type].size;
}

static uint32_t sign_of(const layout *l)
{
    return UINT32_C(1) << (8 * l->size - 1);
}

float storage_widen(sbn_type type, uint32_t bits)
{
    const layout *l = &layouts[type];
    const uint32_t size = bits & (sign_of(l) - 1);
    const int biased = (int)(size >> l->mantissa), infinite = 3 - 2 * l->least;
    const uint32_t one = UINT32_C(1) << l->mantissa, mantissa = size & (one - 1);
    double value = biased == 0 ? ldexp(mantissa, l->least - l->mantissa)
                               : ldexp(mantissa + one, biased - 1 + l->least - l->mantissa);
    if (biased == infinite)
        value = mantissa ? NAN : INFINITY;
    return (float)(bits & sign_of(l) ? -value : value);
}

uint32_t storage_round(sbn_type type, float value)
{
    const layout *l = &layouts[type];
    const uint32_t sign = signbit(value) ? sign_of(l) : 0;
    const uint32_t infinity = (uint32_t)(3 - 2 * l->least) << l->mantissa;
    const double size = fabs((double)value);
    if (isnan(value))
        return sign | infinity | UINT32_C(1) << (l->mantissa - 1);
    int exponent = l->least;
    if (size > 0.0 && isfinite(size) && ilogb(size) > l->least)
        exponent = ilogb(size);
    /* In units of the last place; nearbyint takes ties to even. */
    const double units = nearbyint(ldexp(size, l->mantissa - exponent));
    const double one = ldexp(1.0, l->mantissa);
    const uint32_t bits = isinf(size) || exponent > -l->least + 1
                              ? infinity
                              : (uint32_t)(exponent - l->least) * (uint32_t)one + (uint32_t)units;
    return sign | (bits < infinity ? bits : infinity);
}

uint32_t storage_get(sbn_type type, const void *elements, size_t i)
{
    uint32_t wide;
    uint16_t narrow;
    if (type == SBN_F32) {
        memcpy(&wide, (const char *)elements + i * sizeof wide, sizeof wide);
        return wide;
    }
    memcpy(&narrow, (const char *)elements + i * sizeof narrow, sizeof narrow);
    return narrow;
}

void storage_put(sbn_type type, void *elements, size_t i, uint32_t bits)
{
    const uint16_t narrow = (uint16_t)bits;
    if (type == SBN_F32)
        memcpy((char *)elements + i * sizeof bits, &bits, sizeof bits);
    else
        memcpy((char *)elements + i * sizeof narrow, &narrow, sizeof narrow);
}

int storage_same(sbn_type type, uint32_t a, uint32_t b)
{
    return a == b || (isnan(storage_widen(type, a)) && isnan(storage_widen(type, b)));
}
