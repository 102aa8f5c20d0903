/*
 * Faults in an MPI job: `mpi_faults FAULT...` on 4 ranks, one fault after the other while the group
 * works. Rank 1 is the faulty one, or ranks 1 and 3. After `local` the group goes on with local
 * statistics if a rank does not join. Every rank prints a line for the pass with the fault and one
 * for another pass afterwards, and the program ends as documented: by MPI_Finalize, or by
 * MPI_Abort(…, 3) after a timeout. tests/mpi/faults.sh checks the lines and the exit status.
 */
#include <signal.h>
#include <string.h>

#include "mpi/training.h"
#include "support/wraps.h"

/* One faulty rank skips the first layer; both ranks of a swap call the other's layer. */
static int skip(training *t)
{
    return t->rank == 1 ? training_second(t) : training_first(t);
}

static int swap(training *t)
{
    training_says(t, "first: ", skip(t));
    return t->rank == 1 ? training_first(t) : training_second(t);
}

static int two(training *t)
{
    return t->rank == 3 ? training_backward(t) : skip(t);
}

static int two_alike(training *t)
{
    return t->rank == 1 || t->rank == 3 ? training_second(t) : training_first(t);
}

static int call_odd(training *t, const sbn_batchnorm_config *config)
{
    sbn_saved *saved;
    sbn_batchnorm *odd = training_layer(t, config, &saved);
    sbn_shard shard = t->slice.shard;
    shard.shape[1] = config->channels;
    const int status = sbn_forward(odd, &shard, saved, 0, NULL);
    fixture_end(odd, saved);
    return status;
}

static int channels(training *t)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = "odd";
    config.channels = t->rank == 1 ? 2 : CHANNELS;
    return call_odd(t, &config);
}

static int two_settings(training *t)
{
    sbn_batchnorm_config config = SBN_BATCHNORM_CONFIG_INIT;
    config.name = "odd";
    config.channels = CHANNELS;
    config.eps = t->rank == 1 ? 1e-3 : 1e-5;
    config.momentum = t->rank == 3 ? 0.2 : 0.1;
    return call_odd(t, &config);
}

static int device(training *t)
{
    wraps_fail(WRAP_LAUNCH, t->rank == 1);
    const int status = training_first(t);
    wraps_fail(WRAP_LAUNCH, 0);
    return status;
}

static int late_device(training *t)
{
    wraps_fail(WRAP_EVENT_INFO, t->rank == 1);
    return training_first(t);
}

static int sleeper(training *t)
{
    if (t->rank == 1)
        pause_for(120);
    return training_first(t);
}

/* Rank 1 sleeps; rank 2 gives up long after the others, who had come: it must not name them. */
static int staggered(training *t)
{
    if (t->rank == 2)
        pause_for(t->timeout / 2);
    return sleeper(t);
}

static int stop(training *t)
{
    if (t->rank == 1)
        raise(SIGSTOP);
    return training_first(t);
}

static int kill_rank(training *t)
{
    if (t->rank == 1)
        raise(SIGKILL);
    return training_first(t);
}

static const struct fault {
    const char *name;
    int (*pass)(training *);
    double timeout;
} faults[] = {
    {"skip", skip, 60},         {"swap", swap, 60},
    {"two", two, 60},           {"two_alike", two_alike, 60},
    {"channels", channels, 60}, {"two_settings", two_settings, 60},
    {"device", device, 60},     {"late_device", late_device, 60},
    {"sleep", sleeper, 5},      {"staggered", staggered, 5},
    {"stop", stop, 5},          {"kill", kill_rank, 60},
};

static const struct fault *find(const char *name)
{
    const struct fault *f = faults, *end = faults + sizeof faults / sizeof *faults;
    while (f < end && strcmp(f->name, name) != 0)
        ++f;
    return f < end ? f : NULL;
}

/* SBN_TIMEOUT: the group is dead. */
static int provoke(training *t, const struct fault *f)
{
    t->fault = f->name;
    const int status = training_says(t, "", f->pass(t));
    training_goes_on(t);
    return status;
}

int main(int argc, char **argv)
{
    const int local = argc > 1 && !strcmp(argv[1], "local");
    const struct fault *f = argc > 1 + local ? find(argv[1 + local]) : NULL;
    int status = SBN_SUCCESS;
    training t;
    if (!f || training_open(&t, f->timeout, local ? SBN_TIMEOUT_LOCAL : SBN_TIMEOUT_FAIL))
        return 99;
    for (int i = 1 + local; i < argc && f && status != SBN_TIMEOUT; ++i)
        if ((f = find(argv[i])) != NULL)
            status = provoke(&t, f);
    if (training_close(&t) || status == SBN_TIMEOUT) {
        /* This ends the others too: they have lines to print. */
        pause_for(f && f->pass == staggered ? t.timeout / 2 + 5 : 5);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Finalize();
    return f ? 0 : 99;
}
