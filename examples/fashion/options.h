/* The command line. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <syncbn.h>

struct options {
    size_t replicas;     /* data-parallel workers */
    size_t batch;        /* images per replica and step */
    double epochs;       /* passes over the training images; fractions allowed */
    size_t steps;        /* if not 0, instead of epochs */
    uint64_t seed;       /* of the first start and its batches */
    size_t seeds;        /* how many starts to train from */
    double rate;         /* learning rate at the first step, falling to 0 along a line */
    sbn_type type;       /* of what batch norms read and write */
    const char *devices; /* "auto", "all", a type as "gpu", or numbers as "0,1" */
    const char *data;    /* folder of the four IDX files */
    const char *out;     /* curves go to OUT.csv and OUT.png */
    int list;            /* print the devices and stop */
    int verify;          /* compare digests over splits, do not compare trainings */
};

/* Ends the program with a sentence and status 2 if an option is wrong, or after --help. */
struct options options_parse(int argc, char **argv);
