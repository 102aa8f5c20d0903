#include "mpi/training.h"

#include <stdio.h>
#include <time.h>

#include "support/mpi_job.h"
#include "support/stalls.h"

int training_says(const training *t, const char *when, int status)
{
    /* At once, or the ranks' lines mix: PoCL 6 makes standard output unbuffered. */
    char line[2048];
    snprintf(line, sizeof line, "%s: rank %d: %s%s: %s\n", t->fault, t->rank, when,
             sbn_status_name(status), sbn_last_error());
    fputs(line, stdout);
    fflush(stdout);
    return status;
}

void pause_for(double seconds)
{
    const struct timespec time = {(time_t)seconds,
                                  (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&time, NULL);
}

int training_first(training *t)
{
    return sbn_forward(t->first, &t->slice.shard, t->first_saved, 0, NULL);
}

int training_second(training *t)
{
    return sbn_forward(t->second, &t->slice.shard, t->second_saved, 0, NULL);
}

int training_backward(training *t)
{
    return sbn_backward(t->first, &t->slice.shard, t->first_saved, 0, NULL);
}

void training_goes_on(training *t)
{
    sbn_result result = SBN_RESULT_INIT;
    const int status = sbn_backward(t->first, &t->slice.shard, t->first_saved, 0, &result);
    training_says(t, "afterwards: ", status);
    if (!result.synchronised && !status)
        printf("%s: rank %d: local statistics\n", t->fault, t->rank);
}

sbn_batchnorm *training_layer(const training *t, const sbn_batchnorm_config *config,
                              sbn_saved **saved)
{
    sbn_batchnorm *layer = fixture_layer_of(t->group, config);
    *saved = fixture_saved(layer);
    return layer;
}

int training_open(training *t, double timeout, sbn_timeout_action action)
{
    sbn_group_config config = SBN_GROUP_CONFIG_INIT;
    sbn_batchnorm_config layer = SBN_BATCHNORM_CONFIG_INIT;
    sbn_transport transport = SBN_TRANSPORT_INIT;
    int level;
    if (fixture_open(&t->device))
        return 1;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &t->rank);
    must(sbn_mpi_create(MPI_COMM_WORLD, &t->mpi), "sbn_mpi_create");
    must(sbn_mpi_transport(t->mpi, &transport), "sbn_mpi_transport");
    cl_command_queue queue = fixture_queue(&t->device, 0);
    config.queues = &queue;
    config.replicas = 1;
    config.transport = &transport;
    config.timeout = t->timeout = timeout;
    config.on_timeout = action;
    must(sbn_group_create(&config, &t->group), "sbn_group_create");
    layer.channels = CHANNELS;
    layer.name = "first";
    t->first = training_layer(t, &layer, &t->first_saved);
    layer.name = "second";
    t->second = training_layer(t, &layer, &t->second_saved);
    slice_open(&t->slice, &t->device, queue, (size_t)t->rank * SAMPLES, SAMPLES, CHANNELS, PLANE,
               9);
    /* All together until here, whatever their start took. */
    must(training_first(t), "the first pass");
    mpi_job_meet();
    MPI_Barrier(MPI_COMM_WORLD);
    stalls_begin();
    return 0;
}

int training_close(training *t)
{
    if (stalls_longest() >= t->timeout / 10)
        fprintf(stderr, "rank %d: stopped for %.2g s\n", t->rank, stalls_longest());
    stalls_end();
    slice_close(&t->slice);
    fixture_end(t->first, t->first_saved);
    fixture_end(t->second, t->second_saved);
    sbn_group_destroy(t->group);
    clReleaseCommandQueue(t->slice.queue);
    fixture_close(&t->device);
    return training_says(t, "the transport: ", sbn_mpi_destroy(t->mpi));
}
