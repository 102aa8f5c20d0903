/* Programs: of another text, with more options, and built once, where a test asks for it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "program/program_text.h"
#include "support/wraps.h"

/* A program whose text is known; another may have its address when it is gone. */
typedef struct known {
    struct known *next;
    cl_program program, built; /* the one that has its kernels */
    uint64_t text;             /* with device and options, once it is built */
} known;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int once;
static known *all;

void wraps_build_once(void)
{
    once = 1;
}

static known *find(cl_program program)
{
    known *k = all;
    while (k && k->program != program)
        k = k->next;
    return k;
}

/* Kernels are a context's. */
static uint64_t begin(cl_program program)
{
    cl_context context = NULL;
    wraps_pause();
    clGetProgramInfo(program, CL_PROGRAM_CONTEXT, sizeof context, &context, NULL);
    wraps_resume();
    return sbn__digest(SBN_DIGEST_START, &context, sizeof context);
}

/* A new program has no text yet; what it is made of comes in pieces. */
static void known_has(cl_program program, const void *text, size_t size)
{
    if (!once)
        return;
    const uint64_t start = begin(program);
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
    k->text = sbn__digest(k->text, text, size);
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

static const char *wanted_text, *text_instead, *more_options;
static int replaced;

void wraps_build_with(const char *options)
{
    more_options = options;
}

void wraps_replace(const char *text, const char *instead)
{
    wanted_text = text;
    text_instead = instead;
    replaced = 0;
}

int wraps_replaced(void)
{
    return replaced;
}

/* A copy of a source, with every wanted text replaced. */
static char *source_copy(const char *text, size_t length)
{
    const size_t of_text = strlen(wanted_text), of_instead = strlen(text_instead);
    char *copy = malloc(length * (of_instead + 1) + 1), *to = copy;
    if (!copy)
        abort();
    for (size_t i = 0; i < length;) {
        const int found = length - i >= of_text && memcmp(text + i, wanted_text, of_text) == 0;
        memcpy(to, found ? text_instead : text + i, found ? of_instead : 1);
        to += found ? of_instead : 1;
        i += found ? of_text : 1;
        replaced += found;
    }
    *to = '\0';
    return copy;
}

cl_program __real_clCreateProgramWithSource(cl_context, cl_uint, const char **, const size_t *,
                                            cl_int *);

static cl_program create_replaced(cl_context context, cl_uint count, const char **texts,
                                  const size_t *lengths, cl_int *code)
{
    char *copies[SBN_MAX_SOURCES];
    const char *replaced_texts[SBN_MAX_SOURCES];
    if (count > SBN_MAX_SOURCES)
        abort();
    for (cl_uint i = 0; i < count; ++i)
        replaced_texts[i] = copies[i] = source_copy(texts[i], lengths[i]);
    cl_program program = __real_clCreateProgramWithSource(context, count, replaced_texts, NULL,
                                                          code);
    for (cl_uint i = 0; i < count; ++i)
        free(copies[i]);
    return program;
}

WRAP(cl_program, clCreateProgramWithSource,
     (cl_context context, cl_uint count, const char **texts, const size_t *lengths, cl_int *code))
{
    if (wraps_fails(WRAP_CREATE_PROGRAM)) {
        *code = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    cl_program program = wanted_text ? create_replaced(context, count, texts, lengths, code)
                                     : __real_clCreateProgramWithSource(context, count, texts,
                                                                        lengths, code);
    wraps_hold(WRAPS_REFERENCES, program != NULL);
    for (cl_uint i = 0; program && i < count; ++i)
        known_has(program, texts[i], lengths ? lengths[i] : strlen(texts[i]));
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
    wraps_hold(WRAPS_REFERENCES, program != NULL);
    if (program)
        known_has(program, binaries[0], lengths[0]);
    return program;
}

typedef void(CL_CALLBACK *build_callback)(cl_program, void *);

WRAP(cl_int, clBuildProgram,
     (cl_program program, cl_uint count, const cl_device_id *devices, const char *options,
      build_callback notify, void *data))
{
    if (wraps_fails(WRAP_BUILD))
        return CL_BUILD_PROGRAM_FAILURE;
    char both[4096];
    if (more_options &&
        snprintf(both, sizeof both, "%s %s", options, more_options) >= (int)sizeof both)
        abort();
    if (known_is_built(program, devices[0], options))
        return CL_SUCCESS;
    const cl_int code = __real_clBuildProgram(program, count, devices,
                                              more_options ? both : options, notify, data);
    if (code == CL_SUCCESS)
        known_built(program);
    return code;
}

WRAP(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *code))
{
    if (wraps_fails(WRAP_CREATE_KERNEL)) {
        *code = CL_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    cl_kernel kernel = __real_clCreateKernel(wraps_program_of(program), name, code);
    wraps_hold(WRAPS_REFERENCES, kernel != NULL);
    return kernel;
}
