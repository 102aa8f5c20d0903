/*
 * What a pass costs when a reduction takes 0, 0.1 and 1 ms longer, and how much
 * of that begin, progress and end hide behind other work: printed, not judged.
 * Judged is that the statistics are the same. The latency comes from a transport
 * that wraps MPI's and holds each sum back, so any number of ranks will do.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <syncbn-mpi.h>

#include "base/clock.h"
#include "support/fixture.h"
#include "support/tap_mpi.h"

enum { CHANNELS = 64, PLANE = 784, SAMPLES = 4, PASSES = 40 };

/* --- the transport ------------------------------------------------------------ */

typedef struct slow {
    sbn_transport inner;
    double latency;
} slow;

typedef struct held {
    void *request;
    double until;
} held;

static int start(void *context, int tag, int64_t *words, size_t count, void **request)
{
    const slow *self = context;
    held *h = malloc(sizeof *h);
    if (!h)
        return sbn_set_last_error(SBN_OUT_OF_MEMORY, "no memory for a request");
    const int code = self->inner.start(self->inner.context, tag, words, count, &h->request);
    h->until = sbn__seconds() + self->latency;
    if (code)
        free(h);
    else
        *request = h;
    return code;
}

static int test(void *context, void *request, int *done)
{
    const slow *self = context;
    held *h = request;
    *done = 0;
    if (h->request) {
        int arrived = 0;
        const int code = self->inner.test(self->inner.context, h->request, &arrived);
        if (code || !arrived)
            return code;
        h->request = NULL;
    }
    if (sbn__seconds() >= h->until) {
        *done = 1;
        free(h);
    }
    return 0;
}

static sbn_transport slow_table(slow *self)
{
    return (sbn_transport){.size = sizeof(sbn_transport),
                           .context = self,
                           .rank = self->inner.rank,
                           .world_size = self->inner.world_size,
                           .start = start,
                           .test = test};
}

/* --- what is timed ---------------------------------------------------------------- */

typedef struct bench {
    sbn_group *group;
    sbn_batchnorm *layer;
    sbn_saved *saved;
    slice pass, work;
    size_t work_passes;
} bench;

static void one_pass(bench *b)
{
    must(sbn_forward(b->layer, &b->pass.shard, b->saved, SBN_KEEP_RUNNING_STATS, NULL), "forward");
    must(clFinish(b->pass.queue), "clFinish");
}

/* Other work: evaluations, which need nobody. */
static cl_event begin_work(bench *b)
{
    cl_event last = NULL;
    sbn_shard shard = b->work.shard;
    for (size_t i = 0; i < b->work_passes; ++i) {
        shard.event = i + 1 == b->work_passes ? &last : NULL;
        must(sbn_evaluate(b->layer, &shard), "evaluate");
    }
    return last;
}

static void one_work(bench *b)
{
    cl_event last = begin_work(b);
    must(clWaitForEvents(1, &last), "clWaitForEvents");
    clReleaseEvent(last);
}

static void both_in_turn(bench *b)
{
    one_pass(b);
    one_work(b);
}

static void both_at_once(bench *b)
{
    sbn_pass *pass;
    cl_int state = CL_QUEUED;
    must(sbn_forward_begin(b->layer, &b->pass.shard, b->saved, SBN_KEEP_RUNNING_STATS, &pass),
         "begin");
    cl_event last = begin_work(b);
    while (state > CL_COMPLETE) {
        must(sbn_pass_progress(pass, NULL), "progress");
        must(clGetEventInfo(last, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL),
             "clGetEventInfo");
        /* The device is this machine's processor and needs it. */
        nanosleep(&(struct timespec){0, 20000}, NULL);
    }
    must(sbn_pass_end(pass, NULL), "end");
    must(clFinish(b->pass.queue), "clFinish");
    clReleaseEvent(last);
}

static int ascending(const void *a, const void *b)
{
    const double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* A barrier that gives its core away: MPI's own would keep the other rank's device from running. */
static void meet(void)
{
    MPI_Request request;
    int done = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    while (!done) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        sched_yield();
    }
}

/* Median in milliseconds. */
static double time_of(bench *b, void (*what)(bench *))
{
    double times[PASSES];
    for (int i = 0; i < PASSES; ++i) {
        meet();
        const double since = sbn__seconds();
        what(b);
        times[i] = 1e3 * (sbn__seconds() - since);
    }
    qsort(times, PASSES, sizeof *times, ascending);
    return times[PASSES / 2];
}

static uint64_t measure(const fixture *f, double latency)
{
    slow self = {.latency = latency};
    bench b = {.work_passes = 16};
    sbn_mpi *mpi;
    must(sbn_mpi_create(MPI_COMM_WORLD, &mpi), "sbn_mpi_create");
    self.inner.size = sizeof self.inner;
    must(sbn_mpi_transport(mpi, &self.inner), "sbn_mpi_transport");
    const sbn_transport table = slow_table(&self);
    cl_command_queue queue = fixture_queue(f, 0);
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
    config.queues = &queue;
    config.replicas = 1;
    config.transport = &table;
    layer.channels = CHANNELS;
    must(sbn_group_create(&config, &b.group), "sbn_group_create");
    must(sbn_batchnorm_create(b.group, &layer, &b.layer), "sbn_batchnorm_create");
    must(sbn_saved_create(b.layer, &b.saved), "sbn_saved_create");
    slice_open(&b.pass, f, queue, (size_t)mpi_job_rank() * SAMPLES, SAMPLES, CHANNELS, PLANE, 9);
    slice_open(&b.work, f, queue, 0, SAMPLES, CHANNELS, PLANE, 10);

    both_at_once(&b); /* compiles */
    const double pass = time_of(&b, one_pass), work = time_of(&b, one_work);
    const double turn = time_of(&b, both_in_turn), once = time_of(&b, both_at_once);
    tap_note("+%4.1f ms: pass %6.3f ms, work %6.3f ms, in turn %6.3f ms, at once %6.3f ms: "
             "%5.3f ms of the pass hidden",
             1e3 * latency, pass, work, turn, once, turn - once);

    float values[2][CHANNELS];
    must(sbn_saved_stats(b.saved, values[0], values[1], NULL), "sbn_saved_stats");
    slice_close(&b.pass);
    slice_close(&b.work);
    sbn_saved_destroy(b.saved);
    sbn_batchnorm_destroy(b.layer);
    sbn_group_destroy(b.group);
    clReleaseCommandQueue(queue);
    must(sbn_mpi_destroy(mpi), "sbn_mpi_destroy");
    return digest_of(DIGEST_START, values, sizeof values);
}

int main(int argc, char **argv)
{
    static const double latencies[] = {0.0, 0.0001, 0.001};
    fixture f;
    tap_mpi_begin(&argc, &argv);
    if (fixture_open(&f)) {
        tap_missing("no PoCL device");
        return mpi_job_end(tap_done());
    }
    tap_note("%d ranks, %d channels, medians of %d", mpi_job_size(), CHANNELS, PASSES);
    uint64_t first = 0;
    for (size_t i = 0; i < sizeof latencies / sizeof *latencies; ++i) {
        const uint64_t digest = measure(&f, latencies[i]);
        first = i ? first : digest;
        tap_ok(digest == first, "a latency of %g ms: the same statistics", 1e3 * latencies[i]);
    }
    fixture_close(&f);
    return mpi_job_end(tap_done());
}
