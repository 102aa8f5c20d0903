/* Recognises the format of a file that is not safetensors. */
#pragma once

#include <stddef.h>

/* How many of a file's first bytes are examined. */
enum { SBN_FILE_KIND_SIZE = 512 };

/* A phrase for the format that the first bytes of a file show; NULL if they show none. */
const char *sbn__file_kind(const unsigned char *start, size_t size);
