/*
 * The layers of the whole networks in tests/model/data/network_*, on two replicas of the first PoCL
 * device, and a folder for files. Between begin and end.
 */
#ifndef TESTS_SUPPORT_WHOLE_H
#define TESTS_SUPPORT_WHOLE_H

#include "support/vectors.h"

enum { LAYERS = 3, REPLICAS = 2, MOST = 24 };

typedef struct network {
    sbn_model *model;
    sbn_batchnorm *layers[LAYERS];
    sbn_parameters parameters[LAYERS][REPLICAS];
} network;

/* The last layer has no running statistics. */
extern const char *const network_names[LAYERS];
extern const size_t network_channels[LAYERS];

/* 0, or 1 where there is no device: the program's result is then fixture_missing(). */
int whole_begin(void);

/* Returns the program's result. */
int whole_end(void);

/* The folder, which is to be empty at the end but for the file of this path in it. */
extern char whole_folder[64], whole_path[80];

/* For reading buffers: a slice of nothing, with the queue. */
extern slice whole_slice;

void network_open(network *n, size_t channels_of_second, int affine);
void network_close(network *n);

/* All that a load could change. */
uint64_t network_digest(const network *n);

/* Makes whole_path a file with this header and as many bytes of 255. */
void whole_write(const char *header, size_t data);

#endif
