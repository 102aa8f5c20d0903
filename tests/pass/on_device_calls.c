/* What passes that devices combine call, and what they do not. */
#include "base/memory.h"
#include "launch/layer_pass.h"
#include "pass/on_device.h"
#include "plan/whole.h"
#include "support/wraps.h"

enum { ROUNDS = 20, WARM_UP = 3 };

static const int waiting[] = {WRAP_WAIT,  WRAP_FINISH,        WRAP_READ,     WRAP_WRITE,
                              WRAP_MAP,   WRAP_CREATE_BUFFER, WRAP_ALLOCATE, WRAP_CREATE_KERNEL,
                              WRAP_BUILD, WRAP_CREATE_PROGRAM};
enum { WAITING = sizeof waiting / sizeof *waiting };

/* Steps of training, one behind the other; two forward passes are under way at once. */
static void train_ahead(training *t, sbn_saved *other)
{
    const sbn_branch branch = {sizeof branch, t->layer, t->shards, other, 0};
    sbn_pass *passes[2];
    int ready = 0;
    train(t, 0);
    must(sbn_forward_begin(t->layer, t->shards, t->saved, 0, &passes[0]), "begin");
    must(sbn_forward_begin(t->layer, t->shards, other, 0, &passes[1]), "begin");
    must(sbn_pass_progress(passes[1], &ready), "progress");
    must(ready ? 0 : 1, "a pass that only enqueues is ready");
    const long launches = wraps_calls[WRAP_LAUNCH];
    must(sbn_pass_end(passes[1], NULL), "end");
    must(sbn_pass_end(passes[0], NULL), "end");
    must(wraps_calls[WRAP_LAUNCH] == launches ? 1 : 0, "step 3 is enqueued at the end");
    must(sbn_forward_branches(&branch, 1, NULL), "branches");
    must(sbn_backward_branches(&branch, 1, NULL), "branches");
    must(sbn_recompute(t->layer, t->shards, t->saved), "sbn_recompute");
    train(t, SBN_ACCUMULATE_GRADIENTS);
}

/* What a pass calls: commands, the events in their wait lists, questions for states, flushes, waits. */
typedef struct calls {
    long launches, fills, markers, copies, waited_for, questions, flushes, waits;
} calls;

static calls calls_since(const calls *c)
{
    const long copies = wraps_calls[WRAP_READ] + wraps_calls[WRAP_WRITE] + wraps_calls[WRAP_MAP];
    const long waits = wraps_calls[WRAP_WAIT] + wraps_calls[WRAP_FINISH];
    return (
        calls){wraps_calls[WRAP_LAUNCH] - c->launches, wraps_calls[WRAP_FILL] - c->fills,
               wraps_calls[WRAP_MARKER] - c->markers,  copies - c->copies,
               wraps_waited_for - c->waited_for,       wraps_calls[WRAP_EVENT_INFO] - c->questions,
               wraps_calls[WRAP_FLUSH] - c->flushes,   waits - c->waits};
}

/*
 * What a pass enqueues, doc/performance.md: for each replica with values the reduction, its combining and the apply;
 * where a replica is alone one launch, or two in the GPU form, whose reduction combines; where the host combines the
 * store of the gradients of weight and bias, too. The wide accumulators of several are made 0 before. On queues in
 * order a command waits for those that other queues have, each of which is the last of one, and for what the caller
 * gave, for any replica where devices combine, except where it makes accumulators 0; nothing is asked for its state
 * unless there are several or the pass before was given an event, and each queue is flushed once. Where the host
 * combines, it asks for copies that it has waited for, and flushes for them.
 */
static void check_pass(training *t, operation op, int given, int given_before)
{
    const int on_host = !t->group->combines, back = op == BACKWARD;
    cl_event events[MOST_REPLICAS] = {NULL};
    sbn_result result = SBN_RESULT_INIT;
    const long replicas = (long)t->replicas;
    const long later = replicas * (1 + (back && on_host));
    training_wait(t, &t->given, given);
    for (size_t r = 0; r < t->replicas; ++r)
        t->shards[r].event = &events[r];
    const calls before = calls_since(&(calls){.launches = 0});
    must(fixture_pass(op, t->layer, t->shards, t->saved, 0, &result), operation_names[op]);
    const calls made = calls_since(&before);
    events_release(events, t->replicas);
    const long fills = replicas > 1 && !on_host ? replicas : 0;
    const long least = on_host || replicas > 1 ? later : 0, others = on_host ? 0 : replicas - 1;
    const long alone = training_form == SBN_FORM_GPU ? 2 : 1;
    const long most = replicas == 1 && !on_host ? alone : (2 - on_host) * replicas + later;
    const long behind = made.launches * (1 + others) + replicas + made.copies / 2;
    const long expected = (t->apart ? (made.launches - least) * others : 0) + (given ? behind : 0);
    /* A forward pass asks for the last update of the running statistics, too. */
    const int asks = t->apart || given_before;
    const long questions = on_host ? replicas : asks ? replicas + (op == FORWARD) : 0;
    tap_ok(made.launches <= most && made.fills == fills && made.markers == (given ? replicas : 0) &&
               made.copies == (on_host ? 2 * replicas : 0) &&
               made.flushes == replicas * (1 + on_host) && (on_host || made.waits == 0),
           "%s, %s, %s%s: %ld launches, %ld fills, %ld markers, %ld copies, %ld flushes, %ld waits",
           t->p->what, operation_names[op], on_host ? "the host combines" : "on devices",
           given ? ", behind an event" : "", made.launches, made.fills, made.markers, made.copies,
           made.flushes, made.waits);
    tap_ok(!t->group->replicas->in_order ||
               (made.waited_for == expected && made.questions == questions),
           "which wait for %ld events, of %ld expected in order, and ask for %ld states",
           made.waited_for, expected, made.questions);
    const sbn_layer_pass *lp = t->group->idle_layer_passes;
    const int views = sbn__variant_of(0, sbn__part_of_reductions(back, 0, 1));
    if (training_form == SBN_FORM_GPU)
        tap_ok(!t->group->replicas->kernels[SBN_F32][views], "no kernels of views are loaded");
    else if (replicas == 1 && !on_host)
        tap_ok(lp->strip == sbn__plan_whole(lp->shapes, t->group->replicas, back ? 2 : 1),
               "work-groups have %zu channels", lp->strip);
}

void check_commands(training *t)
{
    for (int i = 0; i < WARM_UP; ++i)
        train(t, 0);
    for (int i = 0; i < 6; ++i)
        check_pass(t, i % 2 ? BACKWARD : FORWARD, i / 2 == 1, i == 3 || i == 4);
}

/* The working memory grows for a layer of more channels while the pass before it may be under way. */
static void check_wider(training *t)
{
    const life l = LIVE_WITH(t->group, .channels = 2 * t->p->channels, .affine = OFF,
                             .track_running_stats = OFF);
    sbn_shard shards[MOST_REPLICAS];
    for (size_t r = 0; r < t->replicas; ++r) {
        shards[r] = t->shards[r];
        shards[r].shape[1] *= 2;
        shards[r].shape[2] /= 2;
    }
    train(t, 0);
    const long waits = wraps_calls[WRAP_WAIT], finished = wraps_calls[WRAP_FINISH];
    fixture_train(&l, shards);
    tap_ok(wraps_calls[WRAP_WAIT] == waits && wraps_calls[WRAP_FINISH] == finished,
           "%s: more channels: %ld waits for events, %ld for queues", t->p->what,
           wraps_calls[WRAP_WAIT] - waits, wraps_calls[WRAP_FINISH] - finished);
    must(clFinish(t->queues[0]), "clFinish");
    fixture_end(l.layer, l.saved);
}

/* The host combines gradients of a frozen layer, for which passes of others do not wait. */
static void check_beside_frozen(training *t)
{
    const life l = LIVE_WITH(t->group, .channels = t->p->channels);
    cl_event gate = fixture_gate(&device);
    sbn_pass *pass;
    must(sbn_batchnorm_set_frozen(l.layer, 1), "frozen");
    must(sbn_forward(l.layer, t->shards, l.saved, 0, NULL), "sbn_forward");
    training_wait(t, &gate, 1);
    must(sbn_backward_begin(l.layer, t->shards, l.saved, 0, &pass), "begin");
    training_wait(t, NULL, 0);
    const long before = wraps_calls[WRAP_WAIT];
    must(sbn_forward(t->layer, t->shards, t->saved, 0, NULL), "sbn_forward");
    tap_ok(wraps_calls[WRAP_WAIT] == before, "%s: no wait for a frozen layer", t->p->what);
    must(clSetUserEventStatus(gate, CL_COMPLETE), "clSetUserEventStatus");
    must(sbn_pass_end(pass, NULL), "end");
    must(clFinish(t->queues[0]), "clFinish");
    must(clReleaseEvent(gate), "clReleaseEvent");
    fixture_end(l.layer, l.saved);
}

void check_calls(training *t)
{
    sbn_saved *other = fixture_saved(t->layer);
    const long finished = wraps_calls[WRAP_FINISH];
    for (int i = 0; i < WARM_UP; ++i) {
        must(sbn_batchnorm_running_stats(t->layer, NULL, NULL, NULL), "running stats");
        train_ahead(t, other);
    }
    tap_ok(wraps_calls[WRAP_FINISH] == finished + 2,
           "%s: statistics and their count are there before passes", t->p->what);
    long made[WAITING];
    const long handles = sbn__handles_open(), asked = wraps_calls[WRAP_EVENT_INFO];
    const long fills = wraps_calls[WRAP_FILL];
    for (int i = 0; i < WAITING; ++i)
        made[i] = -wraps_calls[waiting[i]];
    for (int i = 0; i < ROUNDS; ++i)
        train_ahead(t, other);
    tap_ok(t->replicas > 1 || wraps_calls[WRAP_FILL] == fills, "%s: %ld fills", t->p->what,
           wraps_calls[WRAP_FILL] - fills);
    for (int i = 0; i < WAITING; ++i) {
        made[i] += wraps_calls[waiting[i]];
        tap_ok(made[i] == 0, "%s: %d rounds, %ld calls of %s", t->p->what, ROUNDS, made[i],
               wraps_names[waiting[i]]);
    }
    /* Of each command that something waits for, once; none on a queue in order. */
    const long questions = wraps_calls[WRAP_EVENT_INFO] - asked;
    const long most = t->group->replicas->in_order ? 0 : (long)(ROUNDS * 9 * 16 * t->replicas);
    tap_ok(questions <= most, "%s: %ld questions for states", t->p->what, questions);
    tap_ok(sbn__handles_open() == handles, "%s: %ld more handles", t->p->what,
           sbn__handles_open() - handles);
    const long waited = wraps_waited_for;
    must(sbn_forward(t->layer, t->shards, t->saved, SBN_KEEP_RUNNING_STATS, NULL), "sbn_forward");
    tap_ok(t->replicas > 1 || wraps_waited_for - waited == (t->group->replicas->in_order ? 0 : 2),
           "%s: a pass waits for the last use of its accumulators and its table", t->p->what);
    must(clFinish(t->queues[0]), "clFinish");
    must(sbn_saved_destroy(other), "sbn_saved_destroy");
    check_wider(t);
    check_beside_frozen(t);
}

void check_copies(training *t)
{
    sbn_pass *pass;
    must(sbn_forward_begin(t->layer, t->shards, t->saved, 0, &pass), "begin");
    const long before = wraps_calls[WRAP_WAIT];
    for (int ready = 0; !ready;)
        must(sbn_pass_progress(pass, &ready), "progress");
    const long waits = wraps_calls[WRAP_WAIT] - before;
    must(sbn_pass_end(pass, NULL), "end");
    tap_ok(waits == (long)t->replicas, "%s: %zu copies are read by the host after %ld waits",
           t->p->what, t->replicas, waits);
    must(sbn_batchnorm_set_frozen(t->layer, 1), "frozen");
    train(t, 0);
    const long waited = wraps_waited_for;
    must(sbn_backward(t->layer, t->shards, t->saved, 0, NULL), "sbn_backward");
    tap_ok(wraps_waited_for - waited == (t->group->replicas->in_order ? 0 : 6 * (long)t->replicas),
           "%s: gradients are stored behind dx: %ld events", t->p->what, wraps_waited_for - waited);
    for (size_t r = 0; r < t->replicas; ++r)
        t->shards[r].dx.mem = t->shards[r].weight_grad.mem = t->shards[r].bias_grad.mem = NULL;
    const long launches = wraps_calls[WRAP_LAUNCH];
    must(sbn_backward(t->layer, t->shards, t->saved, 0, NULL), "sbn_backward");
    tap_ok(wraps_calls[WRAP_LAUNCH] == launches, "%s: a pass that wants nothing launches nothing",
           t->p->what);
}
