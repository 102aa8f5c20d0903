#include "program/programs.h"

#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "program/build.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static sbn_program *programs;

static sbn_program *find(const sbn_program *wanted)
{
    sbn_program *one = programs;
    while (one && (one->context != wanted->context || one->device != wanted->device ||
                   one->form != wanted->form || one->type != wanted->type ||
                   one->fusion != wanted->fusion || one->part != wanted->part ||
                   strcmp(one->options, wanted->options) != 0))
        one = one->next;
    return one;
}

/* In the list, but not built yet; NULL: no memory. */
static sbn_program *make_program(const sbn_program *wanted)
{
    sbn_program *made = sbn__allocate(sizeof *made + strlen(wanted->options) + 1);
    if (!made)
        return NULL;
    *made = *wanted;
    made->options = strcpy((char *)(made + 1), wanted->options);
    made->users = 1;
    made->next = programs;
    programs = made;
    return made;
}

/* The existing program, with one more user, or a new one that is not built yet; NULL: no memory. */
static sbn_program *find_or_make(const sbn_program *wanted, int *made)
{
    pthread_mutex_lock(&mutex);
    sbn_program *found;
    while ((found = find(wanted)) && !found->built)
        pthread_cond_wait(&changed, &mutex);
    *made = !found;
    if (found)
        ++found->users;
    else
        found = make_program(wanted);
    pthread_mutex_unlock(&mutex);
    return found;
}

/* No other thread uses a program before it is built. If this build fails, a waiting thread builds it. */
static int build_made(sbn_program *made, const sbn_group_config *config)
{
    const int status = sbn__program_build(made, config);
    if (status)
        sbn__program_release(made);
    pthread_mutex_lock(&mutex);
    if (!status)
        made->built = 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return status;
}

int sbn__program_acquire(const sbn_program *wanted, const sbn_group_config *config,
                         sbn_program **program)
{
    sbn_program like = *wanted;
    int made;
    like.options = config->build_options ? config->build_options : "";
    *program = find_or_make(&like, &made);
    if (!*program)
        return sbn__fail_memory("the kernels");
    return made ? build_made(*program, config) : SBN_SUCCESS;
}

void sbn__program_release(sbn_program *program)
{
    pthread_mutex_lock(&mutex);
    const int last = --program->users == 0;
    if (last) {
        sbn_program **place = &programs;
        while (*place != program)
            place = &(*place)->next;
        *place = program->next;
    }
    pthread_mutex_unlock(&mutex);
    if (last) {
        sbn__program_unload(program);
        sbn__free(program);
    }
}
