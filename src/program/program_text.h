/*
 * The source texts and options of each program. The library compiles them on a device;
 * tools/offline compiles the same without one.
 */
#pragma once

#include "program/build_options.h"
#include "program/program.h"

/* Texts that are compiled together. */
enum { SBN_MAX_SOURCES = 48 };

typedef struct sbn_sources {
    const char *texts[SBN_MAX_SOURCES], *names[SBN_MAX_SOURCES]; /* names: below cl/ */
    size_t lengths[SBN_MAX_SOURCES];
    cl_uint count;
} sbn_sources;

typedef struct sbn_program_text {
    sbn_sources sources;
    char options[3 * 1024 + SBN_MAX_BUILD_OPTIONS];
} sbn_program_text;

/* "forward" */
const char *sbn__program_name(int program);

/* 1 if a variant has such a program: with a fusion only if it has kernels that differ by it. */
int sbn__program_exists(const sbn_program *variant, int program);

/* The variant's options, the caller's, precede the library's (sbn__build_options_check). */
void sbn__program_text(sbn_program_text *text, const sbn_program *variant, int program);
