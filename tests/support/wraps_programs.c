/* Programs that are built once (wraps_build_once). */
#include <pthread.h>
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
void wraps_program_has(cl_program program, const void *text, size_t size)
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

int wraps_program_is_built(cl_program program, cl_device_id device, const char *options)
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
void wraps_program_built(cl_program program)
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
