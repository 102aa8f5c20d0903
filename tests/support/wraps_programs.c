/* Programs: each is built once; of another text, and with more options, where a test asks for it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "support/wraps.h"

/* A program whose text is known; another may have its address when it is gone. */
typedef struct known {
    struct known *next;
    cl_program program, built; /* the one that has its kernels */
    uint64_t text;             /* with device and options, once it is built */
} known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
int wraps_build_anew;
static known *all;

static known *find(cl_program program)
{
    known *k = all;
    while (k && k->program != program)
        k = k->next;
    return k;
}

/* sbn__digest by words of 8 bytes, for all kernels' text is read for each program. */
static uint64_t digest_words(uint64_t digest, const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t word;
    for (; size >= sizeof word; size -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        digest = (digest ^ word) * UINT64_C(1099511628211);
    }
    return sbn__digest(digest, at, size);
}

/* A new program has no text yet; what it is made of comes in pieces. Kernels are a context's. */
static void known_has(cl_context context, cl_program program, const void *text, size_t size)
{
    if (wraps_build_anew)
        return;
    const uint64_t start = sbn__digest(SBN_DIGEST_START, &context, sizeof context);
    pthread_mutex_lock(&lock);
    known *k = find(program);
    if (!k) {
        k = calloc(1, sizeof *k);
        if (!k)
            abort();
        *k = (known){all, program, NULL, start};
        all = k;
    } else if (k->built) {
        k->built = NULL;
        k->text = start;
    }
    k->text = digest_words(k->text, text, size);
    pthread_mutex_unlock(&lock);
}

static int known_is_built(cl_program program, cl_device_id device, const char *options)
{
    pthread_mutex_lock(&lock);
    known *k = find(program), *other = all;
    if (k)
        k->text = sbn__digest(sbn__digest(k->text, &device, sizeof device), options,
                              strlen(options));
    while (k && other && (other->text != k->text || other->built != other->program))
        other = other->next;
    if (k && other)
        k->built = other->program;
    pthread_mutex_unlock(&lock);
    return k && other;
}

/* It stays. */
static void known_built(cl_program program)
{
    pthread_mutex_lock(&lock);
    known *k = find(program);
    if (k) {
        clRetainProgram(program);
        k->built = program;
    }
    pthread_mutex_unlock(&lock);
}

cl_program wraps_program_of(cl_program program)
{
    pthread_mutex_lock(&lock);
    const known *k = find(program);
    pthread_mutex_unlock(&lock);
    return k && k->built ? k->built : program;
}

const char *wraps_build_with;
int wraps_replaced;
static const char *wanted_text, *text_instead;

void wraps_replace(const char *text, const char *instead)
{
    wanted_text = text;
    text_instead = instead;
    wraps_replaced = 0;
}

/* The sources as one text, with every wanted text replaced. */
static char *replaced(cl_uint count, const char **texts, const size_t *lengths)
{
    const size_t of_text = strlen(wanted_text), of_instead = strlen(text_instead);
    size_t size = 1;
    for (cl_uint k = 0; k < count; ++k)
        size += lengths[k] * (of_instead + 1);
    char *whole = malloc(size), *to = whole;
    if (!whole)
        abort();
    for (cl_uint k = 0; k < count; ++k)
        for (size_t i = 0; i < lengths[k];) {
            const char *from = texts[k] + i;
            const int found = lengths[k] - i >= of_text && memcmp(from, wanted_text, of_text) == 0;
            memcpy(to, found ? text_instead : from, found ? of_instead : 1);
            to += found ? of_instead : 1;
            i += found ? of_text : 1;
            wraps_replaced += found;
        }
    *to = '\0';
    return whole;
}

WRAP(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code))
{
    if (wraps_fails(WRAP_CREATE_PROGRAM)) {
        *code = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    char *copy = wanted_text ? replaced(count, texts, lengths) : NULL;
    const char *whole = copy;
    if (copy) {
        count = 1;
        texts = &whole;
        lengths = NULL;
    }
    cl_program program = __real_clCreateProgramWithSource(context, count, texts, lengths, code);
    wraps_held[WRAPS_REFERENCES] += program != NULL;
    for (cl_uint i = 0; program && i < count; ++i)
        known_has(context, program, texts[i], lengths ? lengths[i] : strlen(texts[i]));
    free(copy);
    return program;
}

WRAP(cl_program, clCreateProgramWithBinary,
     (cl_context context, cl_uint count, const cl_device_id *devices, const size_t *lengths,
      const unsigned char **binaries, cl_int *of_binaries, cl_int *code))
{
    if (wraps_fails(WRAP_CREATE_BINARY)) {
        *code = CL_INVALID_BINARY;
        return NULL;
    }
    cl_program program = __real_clCreateProgramWithBinary(context, count, devices, lengths,
                                                          binaries, of_binaries, code);
    wraps_held[WRAPS_REFERENCES] += program != NULL;
    if (program)
        known_has(context, program, binaries[0], lengths[0]);
    return program;
}

int wraps_build_fails_once, wraps_build_code = CL_BUILD_PROGRAM_FAILURE;

/* A program that does not compile does not the second time either. */
static _Thread_local int refusals;

typedef void(CL_CALLBACK *build_callback)(cl_program, void *);

WRAP(cl_int, clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      build_callback notify, void *data))
{
    if (wraps_fails(WRAP_BUILD))
        refusals = wraps_build_fails_once ? 1 : 2;
    if (refusals > 0) {
        --refusals;
        return wraps_build_code;
    }
    char both[4096];
    if (wraps_build_with) {
        if (snprintf(both, sizeof both, "%s %s", options, wraps_build_with) >= (int)sizeof both)
            abort();
        options = both;
    }
    if (known_is_built(program, devices[0], options))
        return CL_SUCCESS;
    const cl_int code = __real_clBuildProgram(program, count, devices, options, notify, data);
    if (code == CL_SUCCESS)
        known_built(program);
    return code;
}

WRAP_CREATE(cl_kernel, clCreateKernel, WRAP_CREATE_KERNEL, CL_OUT_OF_HOST_MEMORY,
            (cl_program program, const char *name, cl_int *code),
            (wraps_program_of(program), name, code))
