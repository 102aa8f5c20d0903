/* Errors that come late, when passes that devices combine have returned. */
#include "launch/layer_pass.h"
#include "pass/on_device.h"
#include "support/stalls.h"
#include "support/wraps.h"

/* The call finds that a command has failed: its error, with these words. */
#define EXPECT_CONDEMNED(call, words, what) \
    do { \
        wraps_condemn(1); \
        expect(call, CL_OUT_OF_RESOURCES, words, what); \
    } while (0)

/*
 * A command that fails when its pass has returned: whoever waits for it is told, once. (PoCL cannot
 * pass a real failure on to commands that wait for it, and aborts.)
 */
void check_late_errors(training *t)
{
    training fresh;
    float mean[MOST_CHANNELS];
    int64_t batches = 0;
    train(t, 0);
    EXPECT_CONDEMNED(sbn_batchnorm_running_stats(t->layer, mean, NULL, &batches),
                     "running statistics of layer \"batchnorm\": a forward pass has failed",
                     "running statistics are asked for");
    must(sbn_batchnorm_running_stats(t->layer, mean, NULL, &batches), "running stats");
    EXPECT_CONDEMNED(sbn_saved_stats(t->saved, mean, NULL, NULL),
                     "the forward pass of layer \"batchnorm\" that fills it has failed",
                     "saved statistics are asked for");
    must(sbn_saved_stats(t->saved, NULL, NULL, NULL), "a count, which needs no device");
    wraps_condemn(0);
    /* A queue in order is asked only where an event of the caller's may have failed. */
    training_wait(t, &t->given, 1);
    train(t, 0);
    EXPECT_CONDEMNED(sbn_forward(t->layer, t->shards, t->saved, 0, NULL),
                     "backward of layer \"batchnorm\", which had only been enqueued, has failed",
                     "the next pass");
    const long fills = wraps_calls[WRAP_FILL];
    must(sbn_forward(t->layer, t->shards, t->saved, SBN_KEEP_RUNNING_STATS, NULL), "the next");
    tap_ok(wraps_calls[WRAP_FILL] == fills + (long)t->replicas,
           "%s: no wide accumulators count as 0 then", t->p->what);
    wraps_condemn(0);
    /* A pass that is refused in between forgets nothing of it. */
    train(t, 0);
    training_wait(t, NULL, 0);
    tap_ok(sbn_forward(t->layer, NULL, t->saved, 0, NULL) == SBN_INVALID_ARGUMENT, "%s: refused",
           t->p->what);
    EXPECT_CONDEMNED(sbn_forward(t->layer, t->shards, t->saved, 0, NULL),
                     "backward of layer \"batchnorm\", which had only been enqueued, has failed",
                     "the next pass that is not refused");
    wraps_condemn(0);
    training_wait(t, &t->given, 1);
    batches = fixture_batches(t->layer);
    tap_ok(batches == 3, "%s: which changes nothing: %lld batches", t->p->what, (long long)batches);
    train(t, 0);
    EXPECT_CONDEMNED(sbn_batchnorm_set_running_stats(t->layer, NULL, NULL, &batches),
                     "running statistics of layer \"batchnorm\": a forward pass has failed",
                     "running statistics are set");
    wraps_condemn(0);
    batches = fixture_batches(t->layer);
    tap_ok(batches == 4, "%s: which sets nothing: %lld batches", t->p->what, (long long)batches);
    training_reset(t);
    train(t, 0);
    const uint64_t again = training_digest(SBN_DIGEST_START, t);
    const long reads = wraps_calls[WRAP_READ];
    must(sbn_saved_stats(t->saved, mean, NULL, NULL), "sbn_saved_stats");
    tap_ok(wraps_calls[WRAP_READ] == reads, "%s: saved statistics are read once", t->p->what);
    training_open(&fresh, t->p, t->queues[0], 0);
    train(&fresh, 0);
    tap_ok(training_digest(SBN_DIGEST_START, &fresh) == again, "%s: and passes go on", t->p->what);
    training_close(&fresh);
}

/* Commands wait for those of other queues: a pass that has failed is told, or all later ones would fail with it. */
void check_late_between_queues(training *t)
{
    train(t, 0);
    wraps_condemn_event(t->group->idle_layer_passes->work[1].last);
    expect(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), CL_OUT_OF_RESOURCES, "backward of",
           "the next pass");
    const long waited = wraps_waited_for_condemned;
    must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "the one after it");
    tap_ok(wraps_waited_for_condemned == waited, "%s: nothing waits for it", t->p->what);
    wraps_condemn(0);
}

/* A command is refused: the group stays usable; all queues are flushed, as what one has may wait for another's. */
void check_refused_commands(training *t)
{
    int refused = 0, flushed = 0, undefined = 0, status = 1;
    train(t, 0);
    for (int n = 1; status && n < 20; ++n) {
        const long before = wraps_calls[WRAP_FLUSH];
        status = WITH_FAILURE(WRAP_LAUNCH, n, sbn_forward(t->layer, t->shards, t->saved, 0, NULL));
        refused += status != SBN_SUCCESS;
        flushed += status && wraps_calls[WRAP_FLUSH] - before >= (long)t->replicas;
        undefined += status && sbn_saved_stats(t->saved, NULL, NULL, NULL);
    }
    tap_ok(refused == 6 && flushed == refused && undefined == refused,
           "%s: behind %d of %d launches that are refused all queues are flushed; %d leave nothing "
           "saved",
           t->p->what, flushed, refused, undefined);
}

/* As the device has left it where an update has not run. */
static void take_back(const training *t, const float *mean, const float *var, int64_t batches)
{
    const size_t row = t->p->channels;
    const cl_mem mem = t->layer->running->device.mem;
    must(clFinish(t->queues[0]), "clFinish");
    buffer_write(t->slices, &(sbn_buffer){mem, 0}, row, mean);
    buffer_write(t->slices, &(sbn_buffer){mem, row}, row, var);
    buffer_write(t->slices, &(sbn_buffer){mem, 2 * row}, 2, (const float *)(const void *)&batches);
}

/* A pass that has failed late, or when its last command had been enqueued, is counted as the device counts it. */
void check_failed_updates(training *t)
{
    float mean[MOST_CHANNELS], var[MOST_CHANNELS];
    int64_t batches = 0;
    train(t, 0);
    training_wait(t, &t->given, 1);
    for (int heard = 0; heard < 2; ++heard) {
        must(sbn_batchnorm_running_stats(t->layer, mean, var, &batches), "running stats");
        must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "sbn_forward");
        take_back(t, mean, var, batches);
        wraps_condemn_event(t->layer->running->last);
        /* It is told in the same memory, where the statistics have not told it first. */
        const int stats = heard ? sbn_batchnorm_running_stats(t->layer, NULL, NULL, &batches) : 0;
        const int told = sbn_forward(t->layer, t->shards, t->saved, 0, NULL);
        const long waited = wraps_waited_for_condemned;
        must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "the one after it");
        tap_ok((heard ? stats != 0 : told == CL_OUT_OF_RESOURCES) &&
                   wraps_waited_for_condemned == waited,
               "%s: no later pass waits for an update that has failed: %s", t->p->what,
               sbn_strerror(told));
        wraps_condemn(0);
        batches = fixture_batches(t->layer);
        tap_ok(batches == 2 + heard, "%s: nor counts it: %lld", t->p->what, (long long)batches);
    }
    const sbn_buffer counted = {t->layer->running->device.mem, 2 * t->p->channels};
    int right = 1, failed = 0;
    long waited = 0, later = 0;
    for (int n = 1; n < 16; ++n) {
        waited -= wraps_calls[WRAP_WAIT];
        failed += WITH_FAILURE(WRAP_RETAIN_EVENT, n,
                               sbn_forward(t->layer, t->shards, t->saved, 0, NULL)) != SBN_SUCCESS;
        waited += wraps_calls[WRAP_WAIT];
        must(clFinish(t->queues[0]), "clFinish");
        buffer_read(t->slices, &counted, 2, (float *)(void *)&batches);
        later -= wraps_calls[WRAP_WAIT];
        must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "the one after it");
        later += wraps_calls[WRAP_WAIT];
        right = fixture_batches(t->layer) == batches + 1 && right;
    }
    tap_ok(right && failed > 1 && waited == failed && later > 0,
           "%s: %d of 15 passes are refused, %ld behind their commands, the next behind %ld",
           t->p->what, failed, waited, later);
    must(sbn_batchnorm_set_running_stats(t->layer, mean, var, &batches), "set");
    const int status = WITH_FAILURE(WRAP_WRITE, 1,
                                    sbn_forward(t->layer, t->shards, t->saved, 0, NULL));
    const int64_t after = fixture_batches(t->layer);
    tap_ok(status && after == batches,
           "%s: nor is one whose statistics were not sent counted: %lld", t->p->what,
           (long long)(after - batches));
}

/* What is loaded takes the place of what was saved, however the passes that used that have ended. */
void check_loading(training *t)
{
    static unsigned char bytes[1 << 12];
    size_t size;
    train(t, 0);
    const uint64_t right = training_digest(SBN_DIGEST_START, t);
    must(sbn_saved_store(t->saved, bytes, sizeof bytes, &size), "sbn_saved_store");
    for (int written = 0; written < 2; ++written) {
        training_reset(t);
        train(t, 0);
        wraps_condemn_event(written ? t->saved->table.copies->written
                                    : t->saved->table.copies->last);
        t->saved->moments->on_device = 0; /* as where the host has combined */
        const int status = sbn_saved_load(t->saved, bytes, size);
        tap_ok(!status, "%s: saved statistics are loaded behind %s that failed: %s", t->p->what,
               written ? "a forward pass" : "a pass", sbn_strerror(status));
        wraps_condemn(0);
        const long reads = wraps_calls[WRAP_READ];
        tap_ok(!sbn_backward(t->layer, t->shards, t->saved, 0, NULL) &&
                   wraps_calls[WRAP_READ] == reads && training_digest(SBN_DIGEST_START, t) == right,
               "%s: and a backward pass that devices combine reads them", t->p->what);
    }
    const int status = WITH_FAILURE(WRAP_WRITE, 1, sbn_saved_load(t->saved, bytes, size));
    tap_ok(status && sbn_saved_stats(t->saved, NULL, NULL, NULL),
           "%s: a load that fails leaves nothing: %s", t->p->what, sbn_strerror(status));
}

/* A pass that the host combines has told its error: the next one, in the same memory, does not wait for that. */
void check_failed_on_host(training *t)
{
    const long waited = wraps_waited_for_condemned;
    int failed = 0;
    train(t, 0);
    for (int n = 1, more = 1; more; ++n) {
        must(sbn_batchnorm_set_frozen(t->layer, 1), "frozen");
        train(t, 0);
        wraps_condemn(n);
        failed += sbn_backward(t->layer, t->shards, t->saved, 0, NULL) != SBN_SUCCESS;
        more = wraps_condemned != NULL;
        must(sbn_batchnorm_set_frozen(t->layer, 0), "released");
        must(sbn_forward(t->layer, t->shards, t->saved, SBN_KEEP_RUNNING_STATS, NULL), "forward");
        wraps_condemn(0);
    }
    const long late = wraps_waited_for_condemned - waited;
    tap_ok(failed > 0 && late == 0,
           "%s: %d passes fail where the host combines, and %ld commands wait for what has failed",
           t->p->what, failed, late);
}

/*
 * Of a forward pass that has failed nothing is read, also when the next one has told that it failed. A backward pass
 * that has failed is told at most once, also where the host writes its table next.
 */
void check_failed_forward(training *t)
{
    float mean[MOST_CHANNELS];
    for (int frozen = 0; frozen < 2; ++frozen) {
        training_wait(t, &t->given, 1);
        train(t, 0);
        training_wait(t, NULL, 0);
        wraps_condemn_event(t->group->idle_layer_passes->gradients.copies->written);
        must(sbn_batchnorm_set_frozen(t->layer, frozen), "frozen");
        const int first = sbn_forward(t->layer, t->shards, t->saved, 0, NULL);
        must(sbn_batchnorm_set_frozen(t->layer, 1), "frozen");
        const int again = sbn_forward(t->layer, t->shards, t->saved, 0, NULL);
        tap_ok(!first || !again, "%s: a failed backward pass is told once: %s, then %s", t->p->what,
               sbn_strerror(first), sbn_strerror(again));
        wraps_condemn(0);
        must(sbn_batchnorm_set_frozen(t->layer, 0), "released");
    }
    train(t, 0);
    wraps_condemn_event(t->saved->table.copies->written);
    /* A queue in order is not asked. */
    const int read = sbn_backward(t->layer, t->shards, t->saved, 0, NULL);
    tap_ok((read == 0) == t->layer->group->replicas->in_order, "%s: reading what it saved: %s",
           t->p->what, sbn_last_error());
    must(sbn_batchnorm_set_frozen(t->layer, 1), "frozen");
    const int told = sbn_forward(t->layer, t->shards, t->saved, 0, NULL);
    tap_ok(told && sbn_saved_stats(t->saved, mean, NULL, NULL),
           "%s: what a pass saved that failed: %s", t->p->what, sbn_strerror(told));
    sbn_batchnorm_running_stats(t->layer, NULL, NULL, NULL); /* they tell the same */
    must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "once more");
    wraps_condemn(0);
    must(sbn_saved_stats(t->saved, mean, NULL, NULL), "sbn_saved_stats");
}

/* An evaluation has failed, and one before it still waits for its input: that has the statistics of its call. */
void check_failed_evaluation(training *t)
{
    static const float means[MOST_CHANNELS] = {5.0f};
    const slice *s = &t->slices[0];
    const sbn_folding folding = FOLDING_OF(&s->shard);
    must(sbn_batchnorm_fold(t->layer, &folding), "sbn_batchnorm_fold");
    const long written = wraps_calls[WRAP_WRITE];
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    must(sbn_batchnorm_reset_running_stats(t->layer), "reset");
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    tap_ok(wraps_calls[WRAP_WRITE] == written + 1,
           "%s: a table is written once, for folding and evaluation", t->p->what);
    must(clFinish(t->queues[0]), "clFinish");
    const uint64_t right = digest_buffer(SBN_DIGEST_START, s, &s->shard.y, s->elements);
    training_reset(t);
    cl_event gate = fixture_gate(&device);
    training_wait(t, &gate, 1);
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    training_wait(t, NULL, 0);
    t->shards[0].y = s->shard.dx;
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    wraps_condemn_event(t->layer->table.copies->last);
    must(sbn_batchnorm_set_running_stats(t->layer, means, NULL, NULL), "set");
    must(sbn_evaluate(t->layer, t->shards), "sbn_evaluate");
    wraps_condemn(0);
    pause_for(0.02); /* while the gate is closed */
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(clFinish(t->queues[0]), "clFinish");
    tap_ok(digest_buffer(SBN_DIGEST_START, s, &s->shard.y, s->elements) == right,
           "%s: an evaluation before one that failed has its own statistics", t->p->what);
    t->shards[0].y = s->shard.y;
    must(clReleaseEvent(gate), "clReleaseEvent");
}
