#include "safetensors/tensor.h"

#include <math.h>
#include <string.h>

#include "base/float_bits.h"
#include "base/text.h"
#include "safetensors/half.h"

/* --- types -------------------------------------------------------------------------- */

static const sbn_tensor_type types[] = {
    {"BOOL", 8},        {"F4", 4},          {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},          {"F8_E5M2", 8},     {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16},        {"F16", 16},        {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32},        {"C64", 64},        {"F64", 64},    {"I64", 64},    {"U64", 64},
    {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8},
};

const sbn_tensor_type *sbn__tensor_type_named(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; ++i)
        if (strcmp(types[i].name, name) == 0)
            return &types[i];
    return NULL;
}

uint64_t sbn__tensor_size(const sbn_tensor_type *type, uint64_t elements)
{
    return elements * type->bits / 8;
}

int sbn__tensor_is_real(const sbn_tensor *tensor)
{
    const char *name = tensor->type->name;
    return strcmp(name, "F32") == 0 || strcmp(name, "F16") == 0 || strcmp(name, "BF16") == 0;
}

/* --- numbers ------------------------------------------------------------------------ */

uint64_t sbn__little_endian(const unsigned char *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = 0; i < size; ++i)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

void sbn__put_little_endian(unsigned char *bytes, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; ++i)
        bytes[i] = (unsigned char)(value >> 8 * i);
}

float sbn__tensor_decode(const sbn_tensor_type *type, const unsigned char *bytes)
{
    const uint32_t bits = (uint32_t)sbn__little_endian(bytes, sbn__tensor_size(type, 1));
    if (type->bits == 32)
        return sbn__float_of_bits(bits);
    return *type->name == 'B' ? sbn__float_of_bfloat((uint16_t)bits)
                              : sbn__float_of_half((uint16_t)bits);
}

int sbn__tensor_encode(const sbn_tensor_type *type, float value, unsigned char *bytes)
{
    const uint32_t bits = type->bits == 32     ? sbn__float_bits(value)
                          : *type->name == 'B' ? sbn__bfloat_of_float(value)
                                               : sbn__half_of_float(value);
    sbn__put_little_endian(bytes, bits, sbn__tensor_size(type, 1));
    return !isfinite(value) || isfinite(sbn__tensor_decode(type, bytes));
}

/* --- in sentences ------------------------------------------------------------------- */

static const char cut[] = "...";

sbn_shown sbn__show(const char *name)
{
    sbn_shown shown = {""};
    char character[5];
    size_t used = 0;
    for (const char *from = name; *from;) {
        from += sbn__printable(from, character);
        const size_t length = strlen(character);
        /* A shortened name ends with a complete character and has room for the dots. */
        if (used + length > sizeof shown.text - (*from ? sizeof cut : 1)) {
            strcpy(shown.text + used, cut);
            break;
        }
        strcpy(shown.text + used, character);
        used += length;
    }
    return shown;
}

size_t sbn__shape_dims(const char *shape)
{
    size_t dims = strcmp(shape, "[]") != 0;
    for (; *shape; ++shape)
        dims += *shape == ',';
    return dims;
}
