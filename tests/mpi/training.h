/*
 * What programs share in which a rank of an MPI job goes wrong: a group over all
 * ranks with one replica each, two layers, and lines
 *
 *   FAULT: rank R: WHEN: STATUS: sentence
 *
 * on standard output, for scripts to look at.
 */
#ifndef TESTS_MPI_TRAINING_H
#define TESTS_MPI_TRAINING_H

#include <syncbn-mpi.h>

#include "support/fixture.h"

enum { CHANNELS = 3, PLANE = 33, SAMPLES = 2 };

typedef struct training {
    int rank;
    const char *fault; /* what is provoked, in lines */
    double timeout;
    fixture device;
    sbn_mpi *mpi;
    sbn_group *group;
    sbn_batchnorm *first, *second;
    sbn_saved *first_saved, *second_saved;
    slice slice;
} training;

/* Initialises MPI; all ranks have made a first pass when it returns. 1: there is no device. */
int training_open(training *t, double timeout, sbn_timeout_action action);

/*
 * Ends everything but MPI, says what became of the transport, and returns its status. Says on
 * standard error if the machine has stopped the process for a tenth of the timeout or more:
 * "stopped for".
 */
int training_close(training *t);

/* The usual layer, or one that is made otherwise. */
sbn_batchnorm *training_layer(const training *t, const sbn_batchnorm_config *config,
                              sbn_saved **saved);

int training_first(training *t);
int training_second(training *t);
int training_backward(training *t);

/* A line, and the status again. */
int training_says(const training *t, const char *when, int status);

/* Backward of the first layer, with its line, and one more where it was not synchronised. */
void training_goes_on(training *t);

void pause_for(double seconds);

#endif
