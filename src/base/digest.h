/* FNV-1a of 64 bits over bytes, to be chained. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SBN_DIGEST_START UINT64_C(14695981039346656037)

static inline uint64_t sbn__digest(uint64_t digest, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; ++i)
        digest = (digest ^ byte[i]) * UINT64_C(1099511628211);
    return digest;
}
