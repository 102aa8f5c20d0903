/* What a checkpoint's layers hold, and what looks wrong with them. */
#ifndef TOOLS_SYNCBN_INSPECT_H
#define TOOLS_SYNCBN_INSPECT_H

#include <syncbn.h>

/* A tensor of a layer: its range, over what is finite, and the rest. */
typedef struct tensor_range {
    float least, most; /* NaN if nothing is finite */
    size_t not_finite;
} tensor_range;

enum { MOST_PROBLEMS = 8 };

typedef struct layer_report {
    sbn_layer_info layer;
    int readable; /* 0: only the problems hold */
    tensor_range weight, bias, mean, var;
    int64_t batches;
    size_t problems; /* what looks wrong */
    char problem[MOST_PROBLEMS][512];
} layer_report;

/* Reads a layer; problems are part of the report. Other failures are a status. */
int inspect_layer(const sbn_checkpoint *checkpoint, size_t index, layer_report *report);

#endif
