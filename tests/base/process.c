/*
 * What <syncbn.h> says about fork, exec and signals, tested without a device: children of a process whose other
 * threads hold locks of the library, programs that a child executes, and signal handlers that interrupt a read.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/fixture.h"

enum { FORKS = 300, READS = 2000, CHILD_SECONDS = 20 };

static atomic_int stop;

/* Locks and unlocks the list of the library's objects all the time. */
static void *keep_locking(void *model)
{
    while (!atomic_load(&stop))
        sbn_model_size(model);
    return NULL;
}

/* What a child may call; returns its exit status. */
static int child_calls(void)
{
    sbn_sampler sampler = SBN_SAMPLER_INIT;
    uint64_t samples[4];
    int failed = sbn_sampler_init(&sampler, sizeof sampler) != SBN_SUCCESS;
    sampler.samples = 10;
    failed += sbn_sampler_take(&sampler, 0, 4, samples) != SBN_SUCCESS;
    failed += sbn_sampler_take(&sampler, 9, 4, samples) != SBN_INVALID_ARGUMENT;
    failed += *sbn_last_error() == '\0';
    failed += *sbn_version() == '\0' || *sbn_strerror(SBN_TIMEOUT) == '\0';
    failed += sbn_set_last_error(SBN_TIMEOUT, "late") != SBN_TIMEOUT;
    failed += strcmp(sbn_status_name(SBN_TIMEOUT), "SBN_TIMEOUT") != 0;
    return failed;
}

static void test_fork(void)
{
    sbn_model *model;
    pthread_t thread;
    int right = 0;
    must(sbn_model_create(&model), "sbn_model_create");
    must(pthread_create(&thread, NULL, keep_locking, model), "pthread_create");
    for (int i = 0; i < FORKS; ++i) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) {
            alarm(CHILD_SECONDS);
            _exit(child_calls());
        }
        right += child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                 WEXITSTATUS(status) == 0;
    }
    atomic_store(&stop, 1);
    pthread_join(thread, NULL);
    sbn_model_destroy(model);
    tap_ok(right == FORKS, "%d of %d children made their calls while a thread held locks", right,
           FORKS);
}

/* Open files, whose numbers are small; or those of them that another program does not get. */
static int descriptors(int closed_only)
{
    enum { NUMBERS = 1024 };
    int count = 0;
    for (int number = 0; number < NUMBERS; ++number) {
        const int flags = fcntl(number, F_GETFD);
        count += flags >= 0 && (!closed_only || (flags & FD_CLOEXEC) != 0);
    }
    return count;
}

static void test_exec(const char *path)
{
    sbn_checkpoint *checkpoint;
    const int all = descriptors(0), closed = descriptors(1);
    must(sbn_checkpoint_create(path, &checkpoint), "sbn_checkpoint_create");
    tap_ok(descriptors(0) == all + 1 && descriptors(1) == closed + 1,
           "its file is closed in other programs: %d files more, %d of them closed",
           descriptors(0) - all, descriptors(1) - closed);
    sbn_checkpoint_destroy(checkpoint);
}

static atomic_int signals;

static void on_alarm(int number)
{
    (void)number;
    atomic_fetch_add(&signals, 1);
}

static void test_signals(const char *path)
{
    struct sigaction action = {.sa_handler = on_alarm}, before, after;
    const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    sigset_t mask_before, mask_after;
    int right = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, &before);
    sigprocmask(SIG_SETMASK, NULL, &mask_before);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < READS; ++i) {
        sbn_checkpoint *checkpoint;
        if (sbn_checkpoint_create(path, &checkpoint) != SBN_SUCCESS)
            break;
        sbn_layer_info info = SBN_LAYER_INFO_INIT;
        sbn_checkpoint_layer(checkpoint, 0, &info);
        float *mean = malloc((info.channels + 1) * sizeof *mean);
        right += mean && info.channels > 0 &&
                 sbn_checkpoint_read(checkpoint, 0, NULL, NULL, mean, NULL, NULL) == SBN_SUCCESS;
        free(mean);
        sbn_checkpoint_destroy(checkpoint);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &before, &after);
    sigprocmask(SIG_SETMASK, NULL, &mask_after);
    tap_ok(right == READS && atomic_load(&signals) > 0,
           "%d of %d checkpoints were read, interrupted by %d signals", right, READS,
           atomic_load(&signals));
    tap_ok(after.sa_handler == on_alarm && sigismember(&mask_before, SIGALRM) == 0 &&
               sigismember(&mask_after, SIGALRM) == 0,
           "handlers and masks are as they were");
}

int main(void)
{
    const char *path = data_path("network_f32.safetensors");
    test_fork();
    test_exec(path);
    test_signals(path);
    return tap_done();
}
