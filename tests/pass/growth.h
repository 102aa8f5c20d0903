/*
 * Programs that were compiled against other versions of the library's structs, with the same
 * work to do: tests/pass/growth_program.c.
 */
#ifndef TESTS_PASS_GROWTH_H
#define TESTS_PASS_GROWTH_H

#include <stddef.h>
#include <stdint.h>

enum { GROWTH_REPLICAS = 2, GROWTH_CHANNELS = 3, GROWTH_PLANE = 5, GROWTH_SAMPLES = 4 };

/* The handles of OpenCL and of the library that a program uses. */
typedef struct growth_setup {
    void *queue;
    void *x[GROWTH_REPLICAS], *y[GROWTH_REPLICAS], *dx[GROWTH_REPLICAS]; /* whole tensors */
    void *parameters, *gradients; /* weight, bias: GROWTH_CHANNELS floats each */
    const char *checkpoint;       /* a file, "" if it cannot be found */
} growth_setup;

typedef struct growth_outcome {
    const char *failed;    /* the first call that did not return what it should; NULL: none */
    char sentence[512];    /* of it */
    uint64_t count;        /* of the forward pass's result */
    uint64_t branch_count; /* of the second branch's result */
    uint64_t samples[4];   /* of the sampler */
    size_t channels;       /* of the checkpoint's first layer */
    int overwritten;       /* a struct was written beyond its size, or a later field not zeroed */
    int refused;           /* structs with a later field in use that were refused rightly, */
    int used;              /* of so many */
} growth_outcome;

/* Compiled against structs with fewer fields, as they are now, and with later ones. */
void growth_older(const growth_setup *setup, growth_outcome *outcome);
void growth_current(const growth_setup *setup, growth_outcome *outcome);
void growth_newer(const growth_setup *setup, growth_outcome *outcome);

#endif
