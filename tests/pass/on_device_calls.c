/* What passes that devices combine call, and what they do not. */
#include <string.h>

#include "base/memory.h"
#include "pass/on_device_training.h"
#include "support/wraps.h"

enum { ROUNDS = 20, WARM_UP = 3 };

static const int waiting[] = {WRAP_WAIT,  WRAP_FINISH,        WRAP_READ,     WRAP_WRITE,
                              WRAP_MAP,   WRAP_CREATE_BUFFER, WRAP_ALLOCATE, WRAP_CREATE_KERNEL,
                              WRAP_BUILD, WRAP_CREATE_PROGRAM};
enum { WAITING = sizeof waiting / sizeof *waiting };

static void count(long counts[WAITING])
{
    for (int i = 0; i < WAITING; ++i)
        counts[i] = wraps_calls(waiting[i]);
}

/* Steps of training, one behind the other; two forward passes are under way at once. */
static void train_ahead(training *t, sbn_saved *other)
{
    const sbn_branch both[] = {{sizeof(sbn_branch), t->layer, t->shards, t->saved, 0},
                               {sizeof(sbn_branch), t->layer, t->shards, other, 0}};
    sbn_result results[2] = {SBN_RESULT_INIT, SBN_RESULT_INIT};
    sbn_pass *passes[2];
    int ready = 0;
    train(t, 0, results);
    must(sbn_forward_begin(t->layer, t->shards, t->saved, 0, &passes[0]), "begin");
    must(sbn_forward_begin(t->layer, t->shards, other, 0, &passes[1]), "begin");
    must(sbn_pass_progress(passes[1], &ready), "progress");
    must(ready ? 0 : 1, "a pass that only enqueues is ready");
    must(sbn_pass_end(passes[1], NULL), "end");
    must(sbn_pass_end(passes[0], NULL), "end");
    must(sbn_forward_branches(&both[1], 1, NULL), "branches");
    must(sbn_backward_branches(&both[1], 1, NULL), "branches");
    must(sbn_recompute(t->layer, t->shards, t->saved), "sbn_recompute");
    train(t, SBN_ACCUMULATE_GRADIENTS, results);
}

/*
 * What a pass enqueues, doc/performance.md: for each replica with values the reduction, its
 * combining and the apply; or one launch, where a replica is alone; in a backward pass of several
 * the gradients. The wide accumulators of several are made 0 before. The queue is flushed once
 * behind what combines, so that the device begins, and once at the end.
 */
static void check_commands(training *t)
{
    sbn_result result = SBN_RESULT_INIT;
    long most = 0;
    for (size_t r = 0; r < t->replicas; ++r)
        most += t->p->samples[r] > 0 ? 3 : 0;
    const long most_fills = t->replicas == 1 ? 0 : (long)t->replicas;
    if (t->replicas == 1)
        most = 1;
    for (int is_backward = 0; is_backward < 2; ++is_backward) {
        const long launches = wraps_calls(WRAP_LAUNCH), flushes = wraps_calls(WRAP_FLUSH);
        const long markers = wraps_calls(WRAP_MARKER), fills = wraps_calls(WRAP_FILL);
        must(is_backward ? sbn_backward(t->layer, t->shards, t->saved, t->p->flags, &result)
                         : sbn_forward(t->layer, t->shards, t->saved, 0, &result),
             "a pass");
        const long expected = most + (is_backward && t->replicas > 1 ? (long)t->replicas : 0);
        const long launched = wraps_calls(WRAP_LAUNCH) - launches;
        tap_ok(
            launched <= expected && wraps_calls(WRAP_MARKER) == markers &&
                wraps_calls(WRAP_FILL) - fills <= most_fills &&
                wraps_calls(WRAP_FLUSH) - flushes <= 2 * (long)t->replicas,
            "%s, %s: expected at most %ld launches, %ld fills, no marker and %zu flushes, got %ld, "
            "%ld, %ld and %ld",
            t->p->what, is_backward ? "backward" : "forward", expected, most_fills, 2 * t->replicas,
            launched, wraps_calls(WRAP_FILL) - fills, wraps_calls(WRAP_MARKER) - markers,
            wraps_calls(WRAP_FLUSH) - flushes);
    }
}

void check_calls(const problem *p, cl_command_queue queue)
{
    training t;
    sbn_saved *other;
    training_open(&t, p, queue, 0);
    must(sbn_saved_create(t.layer, &other), "sbn_saved_create");
    for (int i = 0; i < WARM_UP; ++i)
        train_ahead(&t, other);
    long before[WAITING], after[WAITING];
    const long handles = sbn__handles_open(), asked = wraps_calls(WRAP_EVENT_INFO);
    count(before);
    for (int i = 0; i < ROUNDS; ++i)
        train_ahead(&t, other);
    count(after);
    for (int i = 0; i < WAITING; ++i)
        tap_ok(after[i] == before[i], "%s: %d rounds, %ld calls of %s", p->what, ROUNDS,
               after[i] - before[i], wraps_names[waiting[i]]);
    /* Of each command that something waits for, once. */
    const long questions = wraps_calls(WRAP_EVENT_INFO) - asked;
    tap_ok(questions <= (long)(ROUNDS * 9 * 16 * t.replicas), "%s: %ld questions for states",
           p->what, questions);
    tap_ok(sbn__handles_open() == handles, "%s: %ld more handles", p->what,
           sbn__handles_open() - handles);
    check_commands(&t);
    must(clFinish(queue), "clFinish");
    must(sbn_saved_destroy(other), "sbn_saved_destroy");
    training_close(&t);
}

void check_copies(const problem *p, cl_command_queue queue)
{
    training t;
    sbn_pass *pass;
    training_open(&t, p, queue, 1);
    must(sbn_forward_begin(t.layer, t.shards, t.saved, 0, &pass), "begin");
    const long before = wraps_calls(WRAP_WAIT);
    for (int ready = 0; !ready;)
        must(sbn_pass_progress(pass, &ready), "progress");
    const long waits = wraps_calls(WRAP_WAIT) - before;
    must(sbn_pass_end(pass, NULL), "end");
    tap_ok(waits == (long)t.replicas, "%s: %zu copies are read by the host after %ld waits",
           p->what, t.replicas, waits);
    training_close(&t);
}

static int step(training *t)
{
    const int status = sbn_forward(t->layer, t->shards, t->saved, 0, NULL);
    return status ? status : sbn_backward(t->layer, t->shards, t->saved, t->p->flags, NULL);
}

/* The step after a failure has these bits, unless the group has failed. */
static int goes_on(training *t, uint64_t right)
{
    if (sbn_group_status(t->group, NULL) != SBN_SUCCESS)
        return 1;
    for (size_t r = 0; r < t->replicas; ++r)
        slice_reset(&t->slices[r]);
    must(sbn_batchnorm_reset_running_stats(t->layer), "reset");
    return step(t) == SBN_SUCCESS && digest_statistics(digest_outputs(DIGEST_START, t), t) == right;
}

/* Each launch, or each fill of a step fails once. What it leaves must not reach the next one. */
void check_failed_commands(const problem *p, cl_command_queue queue, int command)
{
    training whole;
    int failed = 0, wrong = 0;
    training_open(&whole, p, queue, 0);
    must(step(&whole), "a step without failures");
    const uint64_t right = digest_statistics(digest_outputs(DIGEST_START, &whole), &whole);
    for (int is_reached = 1; is_reached; failed += is_reached) {
        training t;
        training_open(&t, p, queue, 0);
        wraps_fail(command, failed + 1);
        const int status = step(&t);
        is_reached = wraps_failed() >= 0;
        wraps_fail(command, 0);
        must(clFinish(queue), "clFinish");
        const int is_told = status == CL_OUT_OF_RESOURCES && strstr(sbn_last_error(), "replica ");
        if (is_reached && !is_told)
            tap_note("call %d: %s: %s", failed + 1, sbn_strerror(status), sbn_last_error());
        wrong += is_reached && (!is_told || !goes_on(&t, right));
        training_close(&t);
    }
    tap_ok(wrong == 0 && failed > 0,
           "%s: %d calls of %s failed: %d without a sentence, or without the right bits afterwards",
           p->what, failed, wraps_names[command], wrong);
    training_close(&whole);
}
